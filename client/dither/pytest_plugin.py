"""A pytest plugin with the fixture ``telemetry``; nothing but this file is loaded until a test asks for it.

The metrics are those of ``metrics.toml`` in pytest's root directory; a conftest.py with a fixture ``dither_metrics``
that returns another path, or metrics by name, decides otherwise.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dither_shared.metric import Metric

    from .testing import Telemetry

__all__ = ["dither_metrics", "telemetry"]


@pytest.fixture
def dither_metrics(pytestconfig: pytest.Config) -> "str | Path | Mapping[str, Metric]":
    """Return the definitions that ``telemetry`` is made with."""
    return pytestconfig.rootpath / "metrics.toml"


@pytest.fixture
def telemetry(dither_metrics: "str | Path | Mapping[str, Metric]") -> "Iterator[Telemetry]":
    """Return a client for tests; it is also the default client, whatever the app passes to ``dither.init``."""
    from .default import standing_in  # noqa: PLC0415 - a run that asks for no telemetry pays nothing
    from .testing import Telemetry  # noqa: PLC0415 - likewise

    client = Telemetry(dither_metrics)
    with standing_in(client):
        yield client
    client.close()
