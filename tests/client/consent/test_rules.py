"""Nothing is drawn, written or sent without the user's consent."""

from pathlib import Path

import pytest

import dither
from client.devices import Make, Script
from dither.consent.rules import Stopped, decide
from dither.state.journal_records import ConsentChoice


@pytest.mark.parametrize(
    ("environ", "policy", "automatic", "choice", "mode", "by"),
    [
        ({}, None, "", None, "off", "default"),
        ({}, None, "", "on", "on", "user"),
        ({}, None, "", "yes", "off", "user"),
        ({}, "off", "", "on", "off", "policy"),
        ({}, "", "", "on", "off", "policy file, which cannot be read"),
        ({}, "on", "CI in the environment", "on", "off", "CI"),
        ({"DITHER": "on"}, None, "CI in the environment", "on", "on", "DITHER"),
        ({"DITHER": "local"}, None, "pytest is running", "on", "local", "DITHER"),
        ({"DITHER": "on"}, "off", "", "off", "on", "DITHER"),
        ({"DITHER": "ON"}, None, "", "off", "on", "DITHER"),
        ({"DITHER": "yes"}, None, "", "on", "off", "DITHER"),
        ({"DITHER": ""}, None, "", "on", "on", "user"),
        ({"DO_NOT_TRACK": "1", "DITHER": "on"}, "on", "", "on", "off", "DO_NOT_TRACK"),
        ({"DO_NOT_TRACK": "false"}, None, "", "on", "off", "DO_NOT_TRACK"),
        ({"DO_NOT_TRACK": "0"}, None, "", "on", "on", "user"),
    ],
)
def test_the_first_authority_that_is_set_decides(
    environ: dict[str, str], policy: str | None, automatic: str, choice: str | None, mode: str, by: str
) -> None:
    consent = decide(environ, None if choice is None else ConsentChoice(choice), policy=policy, automatic=automatic)
    assert consent.mode == mode
    assert by in consent.decided_by


@pytest.mark.parametrize(
    ("calls", "resumes", "reason"),
    [
        (["forget"], True, ""),
        (["forget", "close"], False, "closed"),
        (["close", "forget"], False, "closed"),
        (["disable", "close", "forget"], False, "disabled"),
    ],
)
def test_new_consent_resumes_only_a_client_that_was_forgotten(calls: list[str], resumes: bool, reason: str) -> None:
    stopped = Stopped()
    for call in calls:
        getattr(stopped, call)(*(["no folder"] if call == "disable" else []))
    assert stopped.end() is resumes
    assert reason in stopped.reason
    assert bool(stopped) is not resumes


def test_client_that_is_off_draws_and_writes_nothing(make: Make, folder: Path) -> None:
    class NoEntropy:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError("drawn")

    sent = Script()
    client = make(folder, mode=None, transport=sent, entropy=NoEntropy(), background=True)
    client.record("mobile", True)
    assert client.preview() == []
    assert client.flush(1)
    status = client.status()
    client.close()
    assert (status.mode, status.queued, status.trouble) == ("off", 0, {})
    assert not folder.exists()
    assert sent.bodies == []


def test_the_environment_overrules_the_user_and_writes_nothing(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    sent = Script()
    client = make(folder, mode=None, transport=sent, background=True, environ={"DO_NOT_TRACK": "1"})
    client.record("theme", "dark")
    client.flush(1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sent.bodies == []


def test_local_shows_reports_and_never_sends_them(make: Make) -> None:
    sent, state = Script(), dither.MemoryState()
    client = make(state, mode="local", transport=sent, background=True)
    client.record("mobile", True)
    assert len(client.preview()) == 1
    assert client.flush(1)
    client.consent("on")
    assert client.preview() == []
    assert client.flush(1)
    assert sent.bodies == []
    assert client.status().dropped == 1


def test_local_reports_are_not_sent_even_if_the_environment_turns_the_client_on(make: Make, folder: Path) -> None:
    make(folder, mode="local").record("mobile", True)
    sent = Script()
    client = make(folder, mode=None, transport=sent, environ={"DITHER": "on"})
    client.record("theme", "dark")
    assert client.flush(60)
    assert len(sent.bodies) == 1
    assert client.status().shown == 1


def test_withdrawn_consent_drops_waiting_reports(make: Make, folder: Path) -> None:
    sent = Script(down=True)
    client = make(folder, transport=sent)
    client.record("mobile", True)
    client.consent("off")
    assert client.status().queued == 0
    sent.down = False
    client.consent("on")
    assert client.flush(60)
    assert sent.bodies == []
    assert client.status().dropped == 1


def test_a_choice_made_by_another_process_holds_at_once(make: Make, folder: Path) -> None:
    running = make(folder)
    make(folder, mode="off")
    running.record("mobile", True)
    assert running.status().mode == "off"
    assert running.status().metrics[0].reports == 0


def test_a_damaged_choice_is_off(make: Make, folder: Path) -> None:
    make(folder)
    consent = folder / "consent"
    text = consent.read_bytes()
    for position in range(0, len(text), 3):
        consent.write_bytes(text[:position] + bytes([text[position] ^ 1]) + text[position + 1 :])
        client = make(folder, mode=None)
        client.record("mobile", True)
        assert client.status().mode == "off"
    assert b"debit" not in (folder / "journal").read_bytes()


def test_unknown_mode_is_an_error_of_the_developer(make: Make) -> None:
    with pytest.raises(dither.ParameterError, match="maybe"):
        make().consent("maybe")  # type: ignore[arg-type]  # which is the mistake
    quiet = make(strict=False)
    quiet.consent("maybe")  # type: ignore[arg-type]  # likewise
    assert quiet.status().mode == "on"
