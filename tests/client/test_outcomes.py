"""An outcome records whether a piece of work succeeded."""

import asyncio

import pytest

import dither
from client.devices import METRICS
from dither.testing import Telemetry
from dither_shared import Metric


@pytest.fixture(name="dither_metrics")
def _own_metrics() -> dict[str, Metric]:
    return METRICS


def test_outcome_records_success_or_failure(telemetry: Telemetry) -> None:
    with telemetry.outcome("mobile"):
        pass
    with pytest.raises(ZeroDivisionError), telemetry.outcome("mobile"):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), telemetry.outcome("mobile"):
        raise KeyboardInterrupt
    assert telemetry.recorded("mobile") == [True, False]


def test_an_outcome_decorates_functions(telemetry: Telemetry) -> None:
    @dither.outcome("theme", ok="light", failed="dark")
    def half(number: int, *, by: int) -> float:
        """Divide."""
        return number / by

    assert (half(4, by=2), half.__doc__) == (2, "Divide.")
    with pytest.raises(ZeroDivisionError):
        half(4, by=0)
    assert telemetry.recorded("theme") == ["light", "dark"]


def test_an_outcome_decorates_coroutines(telemetry: Telemetry) -> None:
    @telemetry.outcome("mobile")
    async def later(fails: bool) -> str:
        await asyncio.sleep(0)
        assert telemetry.recorded("mobile") == [False] * (not fails), "not before the work is done"
        if fails:
            raise ValueError
        return "done"

    with pytest.raises(ValueError, match=r"^$"):
        asyncio.run(later(True))
    assert asyncio.run(later(False)) == "done"
    assert telemetry.recorded("mobile") == [False, True]
