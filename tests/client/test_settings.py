"""Invalid arguments: one clear error in ``strict``, otherwise one log line and a client that does nothing."""

import math
from decimal import Decimal
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, METRICS, MOBILE, Make, Script
from dither.state.folder import folder_of

NO_NUMBERS: list[object] = ["x", "5", b"1", None, True, False, [1.0], object(), Decimal(1), 1j, math.nan, -math.nan]
NEGATIVE: list[object] = [-1, -1e-9, -math.inf, -(10**5000)]
HUGE: list[object] = [1e300, math.inf, 10**400, 10**5000, 31_622_401]
TIMES = ("spread", "exit_wait", "exit_every")
NO_NAMES = [None, "", ".", "..", "../../etc", "a/b", "a\\b", "a\nb", "C:", 7, "notes.", "notes ", "con", "com1 .a"]

MISTAKES: dict[str, list[object]] = {
    **{name: [*NO_NUMBERS, *NEGATIVE, *HUGE] for name in TIMES},
    "lifetime_cap": [*NO_NUMBERS, *NEGATIVE],
    "metrics": [None, 5, b"metrics.toml", {"mobile": 5}, {"mobile": None}, {5: MOBILE}, {None: None}, {"mobile": {}}],
    "endpoint": [5, None, b"https://example.org", "", "ftp://example.org"],
    "token": [5, b"Very-Secret", ["Very-Secret"]],
    "state": [5, b"folder", "a\0b", "a\ud800b", Path("a\0b")],
    "app": [*NO_NAMES, "Aux.notes"],
    "strata": ["linux", None, 3, ["platform"], {1: "linux"}],
    "seal": ["", "x25519:AA", 5, b"x25519:", "Very-Secret"],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_impossible_argument_disables_the_client_with_one_clear_mistake(
    folder: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    usual: dict[str, object] = {"metrics": METRICS, "endpoint": ENDPOINT, "app": "tests", "state": folder}
    usual["environ"] = {"DITHER": "on"}
    for value in MISTAKES[name]:
        settings, case = usual | {name: value}, f"{name} of {type(value)}"
        caplog.clear()
        with pytest.raises(dither.ParameterError, match=f"^{name}: ") as caught:
            dither.Client(**settings, strict=True)  # type: ignore[arg-type]  # which is the mistake
        assert len(str(caught.value)) < 120, case
        client = dither.Client(**settings)  # type: ignore[arg-type]  # likewise
        client.record("mobile", True)
        status = client.status()
        assert (status.mode, status.unrecorded, status.queued) == ("off", 1, 0), case
        assert status.trouble == {f"telemetry is disabled: {caught.value}": 1}, case
        assert [record.getMessage() for record in caplog.records] == list(status.trouble), f"{case}: it is logged once"
        assert status.decided_by == f"an error: telemetry is disabled in this program: {caught.value}"
        assert (client.preview(), client.sent(), client.flush(1)) == ([], [], False), case
        assert name in {*TIMES, "lifetime_cap", "strata", "token", "seal"} or not client.consent("on"), case
        assert "Very-Secret" not in f"{status}{caplog.text}", case
        assert not folder.exists(), case


def test_a_mistaken_type_is_named_and_its_value_is_not() -> None:
    for name, value in (("endpoint", b""), ("token", 5), ("metrics", None), ("state", b""), ("seal", 5)):
        settings = {"metrics": METRICS, "endpoint": ENDPOINT, "app": "a", "state": None} | {name: value}
        with pytest.raises(dither.ParameterError, match=f"^{name}: .*a value of type {type(value).__name__}"):
            dither.Client(**settings, strict=True, environ={})  # type: ignore[arg-type]  # which is the mistake
    for path in ("a\0b", "a\ud800b"):
        with pytest.raises(dither.ParameterError, match=r"^state: "):
            folder_of(path)


@pytest.mark.parametrize("mistake", [{"spread": "soon"}, {"exit_wait": -1.0}], ids=str)
def test_consent_works_on_a_client_with_invalid_timing(make: Make, folder: Path, mistake: dict[str, object]) -> None:
    make(folder).record("mobile", True)
    sent = Script()
    client = make(folder, mode=None, strict=False, transport=sent, **mistake)
    assert client.status().queued == 1
    assert [metric.name for metric in client.status().metrics] == list(METRICS)
    assert not client.flush(1)
    assert sent.bodies == []
    client.consent("off")
    assert make(folder, mode=None).status().decided_by == "the user's choice"


def test_an_environ_of_a_wrong_type_disables_the_client(make: Make, folder: Path) -> None:
    client = make(folder, mode=None, strict=False, environ=5)
    client.record("mobile", True)
    assert (client.status().mode, client.status().unrecorded) == ("off", 1)
    assert "start failed: AttributeError" in client.status().decided_by
    assert not client.flush(1)


def test_times_from_zero_to_a_year_and_any_lifetime_cap_are_accepted(make: Make) -> None:
    times = [(name, value) for name in TIMES for value in (0, 1e-300, 31_622_400)]
    for name, value in (*times, *(("lifetime_cap", value) for value in HUGE)):
        client = make(background=True, **{name: value})
        client.record("mobile", True)
        assert client.flush(60), (name, type(value))


def test_flush_with_an_invalid_timeout_does_not_wait(make: Make) -> None:
    for timeout in NO_NUMBERS:
        client = make(strict=False)
        client.record("mobile", True)
        assert client.flush(timeout) is False, type(timeout)  # type: ignore[arg-type]  # which is the mistake
        assert client.status().trouble == {"flush was called incorrectly": 1}, type(timeout)
        with pytest.raises(dither.ParameterError, match=r"^timeout: "):
            make().flush(timeout)  # type: ignore[arg-type]  # likewise
        assert client.status().queued == 1, type(timeout)


def test_flush_accepts_any_timeout_or_none(make: Make) -> None:
    for timeout in (math.inf, 1e300, 10**400):
        client = make()
        client.record("mobile", True)
        assert client.flush(timeout), type(timeout)
    client = make(transport=Script(down=True))
    client.record("mobile", True)
    assert not client.flush(-5)
    assert client.status().trouble == {}


def test_an_upload_without_a_finite_deadline_is_refused() -> None:
    for timeout in [*NO_NUMBERS, *NEGATIVE, *HUGE, 0]:
        with pytest.raises(dither.ParameterError, match=r"^timeout: "):
            dither.HttpTransport(ENDPOINT, timeout)  # type: ignore[arg-type]  # which is the mistake
