"""Numbers that an app gives: one clear mistake if they cannot be, and never a TypeError later."""

import math
from decimal import Decimal
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Make, Script

NONE_AT_ALL: list[object] = ["x", "5", b"1", None, True, False, [1.0], object(), Decimal(1), 1j, math.nan, -math.nan]
OUT_OF_RANGE: list[object] = [-1, -1e-9, -math.inf, -(10**5000)]
HUGE: list[object] = [1e300, math.inf, 10**400, 10**5000, 31_622_401]
TIMES = ("spread", "exit_wait", "exit_every")


@pytest.mark.parametrize("name", [*TIMES, "lifetime_cap"])
@pytest.mark.parametrize("value", [*NONE_AT_ALL, *OUT_OF_RANGE, *HUGE], ids=lambda value: str(type(value)))
def test_a_number_that_cannot_be_is_one_clear_mistake(
    make: Make, folder: Path, name: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    if name == "lifetime_cap" and value in HUGE:
        client = make(folder, lifetime_cap=value)
        client.record("mobile", True)
        assert client.flush(60), "a cap may be as large as it likes"
        return
    with pytest.raises(dither.ParameterError, match=f"^{name}: ") as caught:
        dither.Client(METRICS, ENDPOINT, "tests", folder, strict=True, environ={"DITHER": "on"}, **{name: value})  # type: ignore[arg-type]  # which is the mistake
    assert len(str(caught.value)) < 120
    client = make(folder, mode=None, strict=False, background=True, environ={"DITHER": "on"}, **{name: value})
    client.record("mobile", True)
    status = client.status()
    assert (status.mode, status.unrecorded) == ("off", 1)
    assert status.trouble == {f"telemetry is disabled: {caught.value}": 1}
    assert [one.getMessage() for one in caplog.records] == list(status.trouble), "it is told once"
    assert not folder.exists()


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("value", [0, 0.0, 1e-300, 5, 31_622_400])
def test_a_time_from_none_to_a_year_is_taken(make: Make, name: str, value: float) -> None:
    client = make(background=True, **{name: value})
    client.record("mobile", True)
    assert client.flush(60)


@pytest.mark.parametrize("timeout", NONE_AT_ALL, ids=lambda value: str(type(value)))
def test_a_timeout_that_is_no_number_waits_for_nothing(make: Make, timeout: object) -> None:
    client = make(strict=False)
    client.record("mobile", True)
    assert client.flush(timeout) is False  # type: ignore[arg-type]  # which is the mistake
    assert client.status().trouble == {"flush was called with a mistake": 1}
    with pytest.raises(dither.ParameterError, match=r"^timeout: "):
        make().flush(timeout)  # type: ignore[arg-type]  # likewise
    assert client.status().queued == 1


@pytest.mark.parametrize("timeout", [math.inf, 1e300, 10**400])
def test_a_flush_may_wait_for_as_long_as_it_takes(make: Make, timeout: float) -> None:
    client = make()
    client.record("mobile", True)
    assert client.flush(timeout)


def test_a_flush_whose_time_is_over_does_not_wait(make: Make) -> None:
    client = make(transport=Script(down=True))
    client.record("mobile", True)
    assert not client.flush(-5)
    assert client.status().trouble == {}


@pytest.mark.parametrize("timeout", [*NONE_AT_ALL, *OUT_OF_RANGE, *HUGE, 0], ids=lambda value: str(type(value)))
def test_an_upload_has_a_deadline(timeout: object) -> None:
    with pytest.raises(dither.ParameterError, match=r"^timeout: "):
        dither.HttpTransport(ENDPOINT, timeout)  # type: ignore[arg-type]  # which is the mistake
