"""The parts of a client: put together once, also where the app made a mistake."""

from pathlib import Path

import pytest

import dither
from client.devices import METRICS, Make, Script
from dither.parts import Parts, Setup


def test_by_default_parts_keep_and_send_nothing() -> None:
    setup = Setup(app="tests", metrics=METRICS)
    parts = Parts(setup)
    parts.start()
    assert not parts.record("mobile", True)
    assert (parts.controls.preview(), parts.controls.status().mode) == ([], "off")
    with pytest.raises(OSError, match="sends nothing"):
        setup.transport.send(b"{}")


@pytest.mark.parametrize("mistake", [{"spread": "soon"}, {"exit_wait": -1.0}, {"exit_every": float("nan")}], ids=str)
def test_the_user_decides_on_a_client_whose_timing_is_a_mistake(
    make: Make, folder: Path, mistake: dict[str, object]
) -> None:
    client = make(folder, mode=None, strict=False, **mistake)
    client.record("mobile", True)
    client.consent("off")
    status = client.status()
    assert status.decided_by.startswith(f"a mistake: telemetry is disabled in this program: {next(iter(mistake))}: ")
    assert (status.unrecorded, [metric.name for metric in status.metrics]) == (1, list(METRICS))
    assert not client.flush(1)
    assert make(folder, mode=None).status().decided_by == "the user's choice"


def test_a_client_that_could_not_be_made_sends_nothing_that_waits(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    sent = Script()
    client = make(folder, mode=None, strict=False, transport=sent, exit_wait=-1.0)
    assert client.status().queued == 1
    assert not client.flush(1)
    assert sent.bodies == []


@pytest.mark.parametrize("mistake", [{"metrics": 5}, {"app": "a/b"}, {"endpoint": "", "transport": None}], ids=str)
def test_without_metrics_name_or_collector_nothing_is_kept(
    make: Make, folder: Path, mistake: dict[str, object]
) -> None:
    client = make(folder, mode=None, strict=False, **mistake)
    client.consent("on")
    client.record("mobile", True)
    assert (client.status().mode, client.status().unrecorded) == ("off", 1)
    assert not folder.exists()


def test_a_part_that_cannot_be_made_disables_the_client_and_no_more(make: Make, folder: Path) -> None:
    client = make(folder, mode=None, strict=False, environ=5)
    client.record("mobile", True)
    assert (client.status().mode, client.status().unrecorded) == ("off", 1)
    assert "start failed: AttributeError" in client.status().decided_by
    assert not client.flush(1)
    with pytest.raises(dither.ParameterError, match=r"^spread: "):
        make(folder, mode=None, spread=-1.0)
