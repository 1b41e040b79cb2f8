"""Sealed reports from an answer to a relay: what is stored, what is sent, and what happens if sealing is impossible."""

import base64
import dataclasses
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import dither
from client.conftest import Collector
from client.devices import BROWSER, ENDPOINT, METRICS, Calendar, Make, Script, compact, parts_on
from client.seals import KEY, KEYS, opened, sealing, take_package
from client.test_processes import run
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


def test_waiting_reports_leave_as_they_were_sealed_after_the_key_was_changed(make: Make, folder: Path) -> None:
    first = make(folder, seal=KEYS["xwing"])
    first.record("mobile", True)
    (old,) = first.preview()
    first.close()
    script = Script()
    second = make(folder, seal=KEY, transport=script)
    second.record("mobile", True)
    second.record("theme", "dark")
    assert second.flush(60)
    new = next(body for body in script.bodies if body != old)
    assert sorted(script.bodies) == sorted([old, new])
    for body, suite, name in ((old, "xwing", "mobile"), (new, "x25519", "theme")):
        Report.decode(opened(body, suite), METRICS[name].mechanism)
    assert second.status().trouble == {}


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


@pytest.mark.parametrize(
    ("seal", "words"),
    [(KEY, r'the package cryptography.* pip install "dither\[sealed\]"'), (NO_KEM, "seal: nothing can be sealed for")],
    ids=["no package", "no key"],
)
def test_client_that_cannot_seal_draws_and_debits_nothing(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seal: Any, words: str
) -> None:
    if seal is KEY:
        take_package(monkeypatch)
    with pytest.raises(dither.ParameterError, match=words):
        make(seal=seal).record("mobile", True)
    script = Script()
    client = make(folder, seal=seal, strict=False, transport=script)
    for name in METRICS:
        client.record(name, "true")
    status = client.status()
    assert re.search(words, status.decided_by)
    assert {(metric.reports, metric.spent) for metric in status.metrics} <= {(0, 0.0)}
    assert (status.mode, status.queued, status.shown, script.bodies) == ("off", 0, 0, [])
    assert folder.exists() is (seal is NO_KEM), "without the package it is known from the start"
    assert b"debit" not in files_of(folder)
    assert not client.flush(1), "answers were discarded"
    assert len(caplog.messages) == 1


def test_showing_a_sealed_app_needs_no_cryptography_package(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    take_package(monkeypatch)
    client = make(transport=Nowhere(), metrics=sealing())
    assert KEY.fingerprint in client.consent_text()
    assert client.status().metrics[0].sealed_for == KEY.fingerprint


_CLIENT = f"""
import dither
from dither_shared import BooleanQuestion, RandomizedResponse
metrics = {{'m': dither.Metric('m', BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0))}}
def client_of(state, **more):
    return dither.Client(metrics, {ENDPOINT!r}, 'a', state, environ={{'DITHER': 'on'}}, background=False, **more)
"""


def test_hpke_is_imported_only_with_a_key_and_a_report() -> None:
    looks = (
        f"for more in ({{}}, {{'seal': {str(KEY)!r}}}):\n"
        "    client = client_of(dither.MemoryState('on'), **more)\n"
        "    print(client.status().mode, 'cryptography.hazmat.bindings._rust' in sys.modules, end=' ')\n"
        "    client.record('m', True)\n"
        "    print(client.status().queued, 'cryptography.hazmat.bindings._rust' in sys.modules)\n"
    )
    done = run(_CLIENT + looks, options=())
    assert (done.stdout, done.stderr) == ("on False 1 False\non False 1 True\n", "")


def test_sealing_app_on_a_python_without_packages_says_why_it_is_off() -> None:
    done = run(
        f"{_CLIENT}client = client_of(dither.MemoryState('on'), seal={str(KEY)!r})\n"
        "client.record('m', True)\n"
        "print(client.status().mode, client.status().decided_by)\n"
    )
    assert done.stdout.startswith("off an error: telemetry is disabled in this program: seal: ")
    assert done.stderr.startswith("telemetry is disabled: seal: "), "one line, on Python's default log output"
    assert len(done.stderr.splitlines()) == 1


def test_answer_at_exit_can_be_the_first_sealed_report(folder: Path) -> None:
    client = f"client_of({str(folder)!r}, seal={str(KEY)!r})"
    done = run(f"{_CLIENT}import atexit\natexit.register({client}.record, 'm', True)", options=())
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


@pytest.mark.parametrize("seed", range(5))
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
