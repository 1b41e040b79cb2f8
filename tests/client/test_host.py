"""The host is never disturbed: mistakes are counted, logged once without a value, and raised only in ``strict``."""

from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import Make, Script, Stuck, join_uploads


def test_trouble_is_logged_once_and_without_values(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(dither.MemoryState):
        def append(self, record: object) -> NoReturn:
            raise OSError("Very-Secret")

    client = make(Failing(), strict=False)
    for _ in range(3):
        client.record("browser", "Very-Secret")
        client.record("unknown", "Very-Secret")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "Very-Secret" not in caplog.text
    assert "metrics.unknown" in caplog.text


def test_definitions_that_cannot_be_read_disable_the_client(make: Make, tmp_path: Path) -> None:
    missing = tmp_path / "metrics.toml"
    with pytest.raises(dither.ParameterError, match=r"metrics\.toml"):
        make(metrics=missing)
    with pytest.raises(dither.ParameterError, match="endpoint"):
        make(endpoint="ftp://example.org", transport=None)
    client = make(metrics=missing, strict=False)
    client.record("mobile", True)
    assert client.preview() == []
    reason = f"telemetry is disabled: {missing}: cannot be read: No such file or directory"
    assert client.status().trouble == {reason: 1}
    client.consent("on")
    client.record("mobile", True)
    status = client.status()
    assert (status.mode, status.unrecorded, status.queued) == ("off", 2, 0)
    assert status.decided_by == f"an error: {reason.replace('disabled', 'disabled in this program')}"
    assert not client.flush(1), "nothing can arrive"
    client.close()
    assert client.status().decided_by == status.decided_by, "the first reason stays"


def test_mistakes_while_telemetry_is_off_appear_in_the_status(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics = tmp_path / "metrics.toml"
    metrics.write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n', encoding="utf-8")
    for names, trouble in ((["mobile"], {}), (["mobile", "Very-Secret", "no"], {"unknown metric": 1})):
        with closing(dither.Client(metrics, "http://localhost", "tests", tmp_path / "state", environ={})) as client:
            for name in [*names, *names]:
                client.record(name, "mobile")
            assert not caplog.text, "the state is not read before it is needed"
            assert client.status().trouble == trouble
    assert "telemetry was off: 2;" in caplog.text
    assert "Very-Secret" not in caplog.text, "the name may be an answer by mistake"


def test_closed_client_is_off_and_counts_lost_answers(make: Make, folder: Path) -> None:
    client = make(folder)
    client.record("mobile", True)
    assert client.flush(60)
    client.close()
    assert client.flush(60), "every report has arrived"
    client.record("theme", "dark")
    client.consent("on")
    status = client.status()
    assert (status.mode, status.decided_by) == ("off", "the app, which has closed this client")
    assert {metric.state for metric in status.metrics} == {"off"}
    assert (status.unrecorded, status.queued, status.sent) == (1, 0, 1)
    assert not client.flush(60)
    assert make(folder, mode=None).status().mode == "on", "the choice holds for the next run"


@pytest.mark.parametrize("in_memory", [True, False])
def test_consent_after_forget_starts_over_in_the_same_program(make: Make, folder: Path, in_memory: bool) -> None:
    script = Script()
    client = make(dither.MemoryState() if in_memory else folder, transport=script, environ={"DITHER": "on"})
    client.record("mobile", True)
    client.forget()
    client.record("mobile", True)
    status = client.status()
    assert (status.mode, status.unrecorded, status.queued) == ("off", 1, 0)
    assert "deleted" in status.decided_by
    client.consent("off")
    assert client.status().mode == "off"
    client.consent("on")
    with pytest.raises(dither.ParameterError, match="colour"):
        client.record("colour", "red")
    client.record("mobile", True)
    assert (client.status().mode, client.status().queued) == ("on", 1)
    assert client.flush(60)
    assert len(script.bodies) == 1
    assert client.status().trouble == {}


def test_consent_after_forget_resumes_background_uploads(make: Make, folder: Path) -> None:
    stuck = Stuck()
    client = make(folder, transport=stuck, background=True)
    client.forget()
    client.consent("on")
    client.record("mobile", True)
    assert stuck.started.wait(60)
    stuck.release.set()
    join_uploads()
    assert client.status().sent == 1


def test_consent_does_not_reopen_a_closed_client(make: Make, folder: Path) -> None:
    for endings in (("close", "forget"), ("forget", "close")):
        client = make(folder)
        for ending in endings:
            getattr(client, ending)()
        client.consent("on")
        client.record("mobile", True)
        assert (client.status().mode, client.status().queued) == ("off", 0)


def test_answer_passed_as_the_metric_name_is_not_quoted(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    client = make(strict=False)
    client.record("Very-Secret", "editor")
    assert "Very-Secret" not in f"{caplog.text} {client.status()}"
    assert "metrics.editor: given as the answer; a metric's name comes first, its value second" in caplog.text
    with pytest.raises(dither.ParameterError, match="comes first"):
        make().record("Very-Secret", "editor")
