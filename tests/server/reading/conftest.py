"""Fixtures of what reads estimates."""

from typing import Any

import pytest

from dither_server.store import Snapshot
from dither_shared import Metric


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The metrics whose tallies were read, one for each time."""
    names: list[str] = []
    tally = Snapshot.tally

    def reading(self: Snapshot, metric: Metric, *days: Any) -> Any:
        names.append(metric.name)
        return tally(self, metric, *days)

    monkeypatch.setattr(Snapshot, "tally", reading)
    return names
