"""A permanent answer is drawn once and never again; different questions draw unrelated ones."""

import dataclasses
import os
from fractions import Fraction
from pathlib import Path

import dither
from client.devices import BROWSER, METRICS, Calendar, Make, State, parts_on, reports
from dither.reporting.keys import Keys
from dither_shared import Metric, Rappor, StringQuestion, SystemEntropy

# Almost no instantaneous noise: the reported bits are the permanent ones.
_CLEAR = Rappor(
    cohorts=8,
    bits=256,
    permanent_f=Fraction(1, 2),
    instant_p=Fraction(1, 1 << 60),
    instant_q=1 - Fraction(1, 1 << 60),
)
CLEAR = {name: Metric(name, StringQuestion(), _CLEAR) for name in ("one", "two")}


def answers(make: Make, calendar: Calendar, state: State, values: list[str], name: str = "one") -> list[bytes]:
    """Return the rows that a device reports, restarted every day."""
    for value in values:
        make(state, metrics=CLEAR).record(name, value)
        calendar.pass_days(1)
    bodies = make(state, metrics=CLEAR).preview()[-len(values) :]
    return [body.split(b'"reports":"')[1] for body in bodies]


def test_running_client_repeats_the_same_draws_as_a_restarted_one(make: Make, calendar: Calendar) -> None:
    values = ["x", "x", "y", "x", "y", "y", "z", "x"]
    state = dither.MemoryState()
    restarted = answers(make, calendar, state, values)
    running = make(state, metrics=CLEAR)
    for value in values:
        running.record("one", value)
        calendar.pass_days(1)
    bodies = running.preview()[-len(values) :]
    assert [body.split(b'"reports":"')[1] for body in bodies] == restarted
    assert len(set(restarted)) == 3


def test_two_devices_two_metrics_and_two_values_draw_unrelated_bits() -> None:
    """Four draws of rows of 256 fair bits (f = 1) have nothing in common."""
    fair = dataclasses.replace(_CLEAR, permanent_f=Fraction((1 << 63) - 1, 1 << 63))
    metric, twin = (Metric(name, StringQuestion(), fair) for name in ("one", "two"))
    here, there = Keys(b"a" * 32), Keys(b"b" * 32)
    drawn = [
        here.of(metric).draw(b"x"),
        here.of(metric).draw(b"y"),
        here.of(twin).draw(b"x"),
        there.of(metric).draw(b"x"),
    ]
    for place, bits in enumerate(drawn):
        for earlier in drawn[:place]:
            assert 64 < (bits ^ earlier).bit_count() < 192  # 128 expected of 256; fails by chance once in 10^15
    assert here.of(metric).draw(b"x") == drawn[0]
    assert Keys(b"a" * 32).of(metric).draw(b"x") == drawn[0]


def test_the_cohort_of_a_device_is_fixed_and_uniform_over_devices(make: Make, calendar: Calendar) -> None:
    state = dither.MemoryState()
    for day in range(5):
        make(state).record("browser", f"value {day}")
        calendar.pass_days(1)
    assert len({report.cohort for _, report in reports(make(state).preview())}) == 1
    counts = [0] * 8
    for device in range(800):
        counts[Keys(device.to_bytes(32)).of(BROWSER).cohort] += 1
    assert all(60 < count < 145 for count in counts)


def test_cohorts_of_one_device_are_independent_between_metrics() -> None:
    pairs = {
        (keys.of(METRICS["browser"]).cohort, keys.of(METRICS["editor"]).cohort)
        for keys in (Keys(device.to_bytes(32)) for device in range(600))
    }
    assert len(pairs) == 64


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
    shown = f"{client!r} {client.status()!r} {keys!r} {state!r} {parts.journal!r} {parts!r}"
    assert "Very-Secret" not in shown
    assert "s3cr3t" not in shown
