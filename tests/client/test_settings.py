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
def test_an_impossible_number_disables_the_client_with_one_clear_mistake(
    make: Make, folder: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for value in [*NONE_AT_ALL, *OUT_OF_RANGE, *(HUGE if name in TIMES else [])]:
        case = f"{name} of {type(value)}"
        caplog.clear()
        with pytest.raises(dither.ParameterError, match=f"^{name}: ") as caught:
            dither.Client(METRICS, ENDPOINT, "tests", folder, strict=True, environ={"DITHER": "on"}, **{name: value})  # type: ignore[arg-type]  # which is the mistake
        assert len(str(caught.value)) < 120, case
        client = make(folder, mode=None, strict=False, background=True, environ={"DITHER": "on"}, **{name: value})
        client.record("mobile", True)
        status = client.status()
        assert (status.mode, status.unrecorded) == ("off", 1), case
        assert status.trouble == {f"telemetry is disabled: {caught.value}": 1}, case
        assert [one.getMessage() for one in caplog.records] == list(status.trouble), f"{case}: it is logged once"
        assert not folder.exists(), case


def test_a_lifetime_cap_may_be_as_large_as_the_app_likes(make: Make) -> None:
    for value in HUGE:
        client = make(lifetime_cap=value)
        client.record("mobile", True)
        assert client.flush(60), type(value)


@pytest.mark.parametrize("name", TIMES)
def test_a_time_from_none_to_a_year_is_taken(make: Make, name: str) -> None:
    for value in (0, 0.0, 1e-300, 5, 31_622_400):
        client = make(background=True, **{name: value})
        client.record("mobile", True)
        assert client.flush(60), value


def test_a_timeout_that_is_no_number_waits_for_nothing(make: Make) -> None:
    for timeout in NONE_AT_ALL:
        client = make(strict=False)
        client.record("mobile", True)
        assert client.flush(timeout) is False, type(timeout)  # type: ignore[arg-type]  # which is the mistake
        assert client.status().trouble == {"flush was called with a mistake": 1}, type(timeout)
        with pytest.raises(dither.ParameterError, match=r"^timeout: "):
            make().flush(timeout)  # type: ignore[arg-type]  # likewise
        assert client.status().queued == 1, type(timeout)


def test_a_flush_may_wait_for_as_long_as_it_takes(make: Make) -> None:
    for timeout in (math.inf, 1e300, 10**400):
        client = make()
        client.record("mobile", True)
        assert client.flush(timeout), type(timeout)


def test_a_flush_whose_time_is_over_does_not_wait(make: Make) -> None:
    client = make(transport=Script(down=True))
    client.record("mobile", True)
    assert not client.flush(-5)
    assert client.status().trouble == {}


def test_an_upload_without_a_finite_deadline_is_refused() -> None:
    for timeout in [*NONE_AT_ALL, *OUT_OF_RANGE, *HUGE, 0]:
        with pytest.raises(dither.ParameterError, match=r"^timeout: "):
            dither.HttpTransport(ENDPOINT, timeout)  # type: ignore[arg-type]  # which is the mistake
