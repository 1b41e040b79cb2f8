"""A permanent answer is drawn once and never again; different questions draw unrelated ones."""

import os
from fractions import Fraction
from pathlib import Path

import dither
from client.devices import BROWSER, Calendar, Make, parts_on, reports
from dither.reporting.keys import Keys
from dither.state.journal_records import Secret
from dither_shared import Metric, Rappor, StringQuestion, SystemEntropy

# Almost no instantaneous noise: the reported bits are the permanent ones.
_CLEAR = Rappor(
    cohorts=8,
    bits=256,
    permanent_f=Fraction(1, 2),
    instant_p=Fraction(1, 1 << 60),
    instant_q=1 - Fraction(1, 1 << 60),
)
CLEAR = {"one": Metric("one", StringQuestion(), _CLEAR)}


def test_running_client_repeats_the_same_draws_as_a_restarted_one(make: Make, calendar: Calendar) -> None:
    values, state = ["x", "x", "y", "x", "y", "y", "z", "x"], dither.MemoryState()
    running = make(state, metrics=CLEAR)
    for restarts in (True, False):
        for value in values:
            (make(state, metrics=CLEAR) if restarts else running).record("one", value)
            calendar.pass_days(1)
    rows = [body.split(b'"reports":"')[1] for body in running.preview()]
    assert rows[:8] == rows[8:]
    assert len(set(rows)) == 3


def test_the_cohort_of_a_device_is_fixed(make: Make, calendar: Calendar) -> None:
    state = dither.MemoryState()
    for day in range(5):
        make(state).record("browser", f"value {day}")
        calendar.pass_days(1)
    assert len({report.cohort for _, report in reports(make(state).preview())}) == 1


def test_the_secret_is_drawn_from_the_entropy_that_is_given_and_stored_once(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    secret = (folder / "secret").read_bytes()
    make(folder).record("theme", "dark")
    assert (folder / "secret").read_bytes() == secret
    if os.name == "posix":
        assert (folder / "secret").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700
    assert isinstance(SystemEntropy().take(1), bytes)


def test_no_repr_shows_a_secret_or_a_value(make: Make) -> None:
    state = dither.MemoryState("on")
    parts = parts_on(state)
    parts.record("browser", "Very-Secret-Browser")
    client = make(state)
    client.record("editor", "Very-Secret-Editor")
    keys = Keys(b"s3cr3t" * 6)
    keys.of(BROWSER).draw(b"Very-Secret-Browser")
    shown = f"{Secret('s3cr3t')!r} {client!r} {client.status()!r} {keys!r} {state!r} {parts.journal!r} {parts!r}"
    assert "Very-Secret" not in shown
    assert "s3cr3t" not in shown
