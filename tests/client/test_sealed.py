"""Sealed reports from an answer to a relay: what is stored, what is sent, and what happens if sealing is impossible."""

import base64
import dataclasses
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dither
from client.conftest import Collector
from client.devices import BROWSER, ENDPOINT, METRICS, Calendar, Make, Script, compact, parts_on
from client.seals import KEY, KEYS, opened, sealing, take_package
from client.test_processes import FLOORS, needs_fork, run
from dither.reporting.bodies import read
from dither.reporting.ledger import Ledger
from dither.upload.transport import Nowhere
from dither_shared import Rappor, Report
from dither_shared.seal_key import SUITES, SealKey
from dither_shared.sealed import Pool, SealedReport, pool_period

WIDE = {"browser": dither.Metric("browser", BROWSER.question, Rappor.calibrate(None, 2.0, 4.0, cohorts=1, bits=2048))}
NO_KEM = str(SealKey(SUITES["xwing"], bytes([255] * 1184 + [9] * 32)))
"""A key of the right form whose coefficients ML-KEM refuses."""


def files_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def holds(folder: Path, row: bytes) -> bool:
    """Return whether any file of a state holds a row, in bytes, hexadecimal or base64."""
    written, text = files_of(folder), base64.b64encode(row).rstrip(b"=")
    pieces = [text[start : start + 40] for start in range(0, len(text) - 40, 40)]
    return any(form in written for form in (row, row.hex().encode(), *pieces))


@pytest.mark.parametrize("suite", KEYS)
def test_reports_sent_to_a_relay_open_only_with_the_collectors_key(
    make: Make, collector: Collector, suite: str
) -> None:
    client = make(transport=None, endpoint=collector.endpoint + "/relay/", seal=str(KEYS[suite]))
    for name in METRICS:
        client.record(name, "true")
    shown = client.preview()
    collector.answers = [(503, {})]
    while not client.flush(60):
        assert client.status().dropped == 0
    assert {request.path for request in collector.arrived} == {"/relay/v1/sealed"}
    assert sorted(request.body for request in collector.arrived) == sorted([shown[0], *shown])
    assert sorted(client.sent()) == sorted(shown)
    for name, body in zip(METRICS, shown, strict=True):
        assert (read(body).metric, read(body).version) == (name, METRICS[name].version)
        Report.decode(opened(body, suite), METRICS[name].mechanism)


def test_no_row_ever_stands_on_the_disk(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder, metrics=sealing(WIDE))
    client.record("browser", "firefox")
    (body,) = client.preview()
    row = opened(body)
    assert len(row) == 256
    assert not holds(folder, row)
    assert client.flush(60)
    assert not holds(folder, row)
    client.close()
    compact(folder, calendar, metrics=sealing(WIDE))
    assert not holds(folder, row)
    assert base64.b64encode(row) not in files_of(folder)


def test_disk_search_finds_an_unsealed_row(make: Make, folder: Path) -> None:
    client = make(folder, metrics=WIDE)
    client.record("browser", "firefox")
    assert holds(folder, read(client.preview()[0]).row)


@needs_fork
def test_reports_of_a_killed_process_are_sent_as_they_were_sealed(make: Make, folder: Path) -> None:
    make(folder, seal=KEY).close()
    if (child := os.fork()) == 0:
        client = make(folder, mode=None, seal=KEY)
        for name in METRICS:
            client.record(name, "true")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    script = Script([503, 429, OSError("cut")])
    after = make(folder, mode=None, seal=KEY, transport=script)
    kept = after.preview()
    assert len(kept) == len(METRICS)
    while not after.flush(60):
        assert after.status().dropped == 0
    assert set(script.bodies) == set(kept)
    assert len(script.bodies) == len(kept) + 3
    for body in kept:
        Report.decode(opened(body), METRICS[read(body).metric].mechanism)


@pytest.mark.parametrize(("before", "after"), [(None, KEY), (KEY, None)])
def test_waiting_reports_are_dropped_when_the_app_starts_or_stops_sealing(
    make: Make, folder: Path, before: SealKey | None, after: SealKey | None
) -> None:
    first = make(folder, metrics=WIDE | {"mobile": METRICS["mobile"]}, seal=before)
    first.record("browser", "firefox")
    first.record("mobile", True)
    shown = first.preview()
    first.close()
    script = Script()
    second = make(folder, metrics=METRICS | WIDE, seal=after, transport=script)
    second.record("browser", "firefox")
    assert second.status().ignored == 1, "what was spent stays spent"
    second.record("theme", "dark")
    assert not second.flush(60), "not every report has arrived"
    status = second.status()
    assert (status.sent, status.dropped, status.queued) == (1, 2, 0)
    assert [read(body).metric for body in script.bodies] == ["theme"]
    word = "in the clear" if after is None else "sealed"
    assert status.trouble == {f"a report was dropped: the app's reports are {word} now, and this one is not": 2}
    second.record("weekly", True)
    assert second.flush(60)
    second.close()
    assert not any(body in files_of(folder) for body in shown), "it was rewritten with the next report"


def test_waiting_reports_are_sent_although_the_app_has_a_new_key(make: Make, folder: Path) -> None:
    first = make(folder, seal=KEYS["xwing"])
    first.record("mobile", True)
    first.close()
    script = Script()
    second = make(folder, seal=KEY, transport=script)
    assert second.flush(60)
    assert len(script.bodies) == 1
    assert opened(script.bodies[0], "xwing")


def test_client_handles_a_relays_answers_like_a_collectors(make: Make) -> None:
    for answer in (200, 202, 400, 401, 404, 409, 410, 413, 429, 500, 503, OSError("cut")):
        outcomes = []
        for seal in (None, KEY):
            script = Script([answer])
            client = make(transport=script, seal=seal)
            client.record("mobile", True)
            client.record("theme", "dark")
            client.flush(60)
            status = client.status()
            states = [metric.state for metric in status.metrics]
            counts = status.sent, status.dropped, status.queued, status.failed_attempts
            outcomes.append((counts, states, len(script.bodies)))
        assert outcomes[0] == outcomes[1], answer


def test_hpke_is_loaded_while_nobody_waits_for_the_journal(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(folder, seal=KEY)
    client.record("theme", "dark")
    other, loaded = parts_on(folder).journal, []

    def load(key: SealKey) -> None:
        with other.transaction():
            loaded.append(key)

    monkeypatch.setattr("dither.reporting.recorder.sealer", load)
    client.record("mobile", True)
    other.close()
    assert loaded == [KEY]


def test_many_threads_seal_at_once(make: Make) -> None:
    client = make(seal=KEY)
    start = threading.Barrier(4)

    def work(name: str) -> None:
        start.wait(60)
        client.record(name, "true")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("mobile", "theme", "weekly", "browser")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    bodies = client.preview()
    assert len(bodies) == len({read(body).metric for body in bodies}) == 4
    assert all(map(opened, bodies))


def test_preview_in_mode_local_shows_the_unsealed_row(make: Make, folder: Path) -> None:
    client = make(folder, mode="local", seal=KEY)
    client.record("mobile", True)
    (body,) = client.preview()
    assert read(body).row
    client.consent("on")
    assert client.preview() == []
    assert client.status().dropped == 1


def test_seal_key_on_only_some_metrics_is_refused(make: Make) -> None:
    some = METRICS | {"theme": sealing()["theme"]}
    with pytest.raises(dither.ParameterError, match="metrics: mobile has no seal key, but other metrics have one"):
        make(metrics=some)
    client = make(metrics=some, seal=KEY)
    client.record("mobile", True)
    assert opened(client.preview()[0])


def test_without_the_hpke_package_no_report_is_drawn(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take_package(monkeypatch)
    with pytest.raises(dither.ParameterError, match="the package cryptography"):
        make(folder, seal=KEY)
    with caplog.at_level(logging.WARNING, "dither"):
        client = make(folder, seal=KEY, strict=False)
        for name in METRICS:
            client.record(name, "true")
    assert len(caplog.messages) == 1
    assert "the package cryptography" in caplog.messages[0]
    status = client.status()
    assert "the package cryptography" in status.decided_by
    assert (status.mode, status.queued, status.unrecorded) == ("off", 0, len(METRICS))
    assert not folder.exists()


def test_unusable_key_disables_the_client_without_a_debit(
    make: Make, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script()
    client = make(folder, seal=NO_KEM, strict=False, transport=script)
    for name in METRICS:
        client.record(name, "true")
    status = client.status()
    assert "seal: nothing can be sealed for" in status.decided_by
    assert {metric.reports for metric in status.metrics} == {0}
    assert {metric.spent for metric in status.metrics} == {0.0}
    assert (status.queued, status.shown, script.bodies) == (0, 0, [])
    assert b"queued" not in files_of(folder)
    assert b"debit" not in files_of(folder)
    assert not client.flush(1), "answers were discarded"
    assert len(caplog.messages) == 1
    with pytest.raises(dither.ParameterError, match="nothing can be sealed"):
        make(seal=NO_KEM).record("mobile", True)


def test_a_row_that_cannot_be_sealed_leaves_no_debit(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make(folder, seal=KEY, strict=False)

    def fails(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr("dither.reporting.bodies.sealed", fails)
    client.record("browser", "firefox")
    assert client.status().trouble == {"record failed: MemoryError": 1}
    assert {metric.spent for metric in client.status().metrics} == {0.0}
    monkeypatch.undo()
    client.record("browser", "firefox")
    assert opened(client.preview()[0])


def test_showing_a_sealed_app_needs_no_cryptography_package(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    take_package(monkeypatch)
    client = make(transport=Nowhere(), metrics=sealing())
    assert KEY.fingerprint in client.consent_text()
    assert client.status().metrics[0].sealed_for == KEY.fingerprint


def test_hpke_is_imported_only_with_a_key_and_a_report() -> None:
    program = (
        f"import sys; sys.path[:0] = {FLOORS!r}\n"
        "import dither\n"
        "from dither_shared import BooleanQuestion, RandomizedResponse\n"
        "metrics = {'m': dither.Metric('m', BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0))}\n"
        "def looked(**more):\n"
        "    state = dither.MemoryState('on')\n"
        "    client = dither.Client(metrics, 'http://127.0.0.1:9', 'a', state, environ={}, background=False, **more)\n"
        "    print(client.status().mode, 'cryptography.hazmat.bindings._rust' in sys.modules, end=' ')\n"
        "    client.record('m', True)\n"
        "    print(client.status().queued, 'cryptography.hazmat.bindings._rust' in sys.modules)\n"
        "looked()\n"
        f"looked(seal={str(KEY)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["on False 1 False", "on False 1 True"]


def test_sealing_app_on_a_python_without_packages_says_why_it_is_off() -> None:
    done = run(
        "import dither\n"
        f"client = dither.Client({{}}, {ENDPOINT!r}, 'app', dither.MemoryState('on'), environ={{}})\n"
        "print(client.status().mode)\n"
        "from dither_shared import BooleanQuestion, RandomizedResponse\n"
        "metrics = {'m': dither.Metric('m', BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0))}\n"
        "state = dither.MemoryState('on')\n"
        f"client = dither.Client(metrics, {ENDPOINT!r}, 'app', state, environ={{}}, seal={str(KEY)!r})\n"
        "client.record('m', True)\n"
        "print(client.status().mode, client.status().decided_by)\n"
    )
    first, second = done.stdout.splitlines()
    assert first == "on"
    assert second.startswith("off an error: telemetry is disabled in this program: seal: ")
    assert done.stderr.startswith("telemetry is disabled: seal: "), "one line, on Python's default log output"
    assert len(done.stderr.splitlines()) == 1


def test_answer_at_exit_can_be_the_first_sealed_report(folder: Path) -> None:
    program = (
        f"import sys; sys.path[:0] = {FLOORS!r}\n"
        "import atexit, dither\n"
        "from dither_shared import BooleanQuestion, RandomizedResponse\n"
        "metrics = {'m': dither.Metric('m', BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0))}\n"
        f"client = dither.Client(metrics, {ENDPOINT!r}, 'app', {str(folder)!r}, environ={{'DITHER': 'on'}},\n"
        f"                       seal={str(KEY)!r}, background=False)\n"
        "atexit.register(client.record, 'm', True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert b'{"pool":"m/' in files_of(folder)


def pools_of(client: dither.Client) -> list[Pool]:
    return [SealedReport.decode(body).pool for body in client.preview()]


def test_waiting_report_names_the_period_in_which_it_was_drawn(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder, seal=KEY)
    for name in ("mobile", "weekly", "survey"):
        client.record(name, True)
    calendar.pass_days(12)
    for name in ("mobile", "weekly", "survey"):
        client.record(name, True)
    days = ["day-2026-11-18", "week-2026-11-16", "once", "day-2026-11-30", "week-2026-11-30"]
    assert [pool.period for pool in pools_of(client)] == days
    before = client.preview()
    client.close()
    assert make(folder, mode=None, seal=KEY).preview() == before


@pytest.mark.parametrize("seed", range(20))
def test_a_device_never_names_a_pool_twice_whatever_its_clock_and_definition_say(seed: int) -> None:
    """A report needs a period that began after the last one's day, so pools of a device only get later."""
    chance, ledger, named = random.Random(seed), Ledger(), []
    today = calendar_day = 740_000
    for _ in range(200):
        calendar_day += chance.choice([0, 0, 1, 1, 2, 9])
        today = calendar_day + chance.choice([0, 0, 0, -1, -40, 1])
        metric = dataclasses.replace(METRICS["mobile"], period=chance.choice(["day", "week"]))
        if ledger.open_to(metric, today):
            ledger.apply(ledger.debit(metric, today))
            named.append(Pool("mobile", metric.version, None, pool_period(metric.period, today)))
    assert len(named) > 20
    assert len(set(named)) == len(named)
    starts = [pool.days.start for pool in named if pool.days is not None]
    assert starts == sorted(set(starts))


def test_two_copies_of_a_state_folder_report_twice_in_a_pool(make: Make, folder: Path, tmp_path: Path) -> None:
    """Each copy of a machine or its files counts only its own spend; each report is as private as any."""
    make(folder, seal=KEY).close()
    shutil.copytree(folder, tmp_path / "copy")
    pools = []
    for place in (folder, tmp_path / "copy"):
        client = make(place, mode=None, seal=KEY)
        client.record("weekly", True)
        pools += pools_of(client)
    assert len(pools) == 2
    assert len(set(pools)) == 1
