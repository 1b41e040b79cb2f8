"""A pytest plugin with the fixture ``telemetry``; nothing but this file is loaded until a test asks for it.

The metrics are those of ``metrics.toml`` in pytest's root directory, or those that the app hands to ``dither.init`` if
there is no such file; a conftest.py with a fixture ``dither_metrics`` that returns another path, or metrics by name,
decides otherwise. A ``dither.Client`` of the app's own has the metrics that the app made it with.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dither_shared.metrics.metric import Metric

    from .testing import Telemetry


@pytest.fixture
def dither_metrics(pytestconfig: pytest.Config) -> "str | Path | Mapping[str, Metric]":
    """Return the definitions that ``telemetry`` is made with."""
    path = pytestconfig.rootpath / "metrics.toml"
    return path if path.exists() else {}


@pytest.fixture
def telemetry(dither_metrics: "str | Path | Mapping[str, Metric]") -> "Iterator[Telemetry]":
    """Return a client for tests that stands in for every client of the app; a mistaken answer fails the test."""
    from .testing import Telemetry  # noqa: PLC0415 - a run that asks for no telemetry pays nothing

    client = Telemetry(dither_metrics)
    with client.standing_in():
        yield client
    client.close()
    if client.mistakes:  # even if the app caught the exception
        pytest.fail("wrong answers to dither's metrics:\n" + "\n".join(client.mistakes), pytrace=False)
