"""Fixtures: a collector that keeps what relays send, and a relay's store that knows its pools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither_relay.store import RelayStore
from relay.fake_collector import FakeCollector, collecting
from relay.relaying import POOLS, stored


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with collecting(POOLS) as collector:
        yield collector


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RelayStore]:
    with stored(tmp_path) as store:
        yield store
