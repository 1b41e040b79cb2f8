"""What a device stores of its answers: one draw and one charge per set of marked cells, and never a value."""

import dataclasses
import hashlib
import os
from fractions import Fraction
from pathlib import Path

import pytest

import dither
from client.devices import BROWSER, Calendar, Make, State, compact, parts_on
from dither.reporting.keys import Keys
from dither.reporting.ledger import Ledger
from dither.reporting.recorder import recall
from dither.state.journal_records import Charged, Debit, Permanent, Record, Secret, from_lines
from dither_shared import (
    Batch,
    BitFlip,
    ChoiceQuestion,
    DitherError,
    LocalHashing,
    Mechanism,
    Metric,
    OptimizedUnary,
    RandomizedResponse,
    Rappor,
    Report,
    StringQuestion,
    SystemEntropy,
)

_CALM = {"epsilon": 1.0, "permanent_epsilon": 1.000000001}
"""Reports show the permanent draw: what is drawn for each report changes one in a billion."""

MECHANISMS: dict[str, Mechanism] = {
    "randomized-response": RandomizedResponse.configure(72, _CALM),
    "local-hashing": LocalHashing.configure(72, _CALM),
    "optimized-unary": OptimizedUnary.calibrate(72, 1.0, 1.000000001),
    "bit-flip": BitFlip.configure(72, {"epsilon": 1.0, "bits": 4}),
    "rappor": Rappor(
        cohorts=4,
        bits=8,
        permanent_f=Fraction(1, 2),
        instant_p=Fraction(1, 1 << 40),
        instant_q=1 - Fraction(1, 1 << 40),
    ),
}
VALUES = [f"value {number}" for number in range(71)]


def question(name: str, values: float = 1000) -> dict[str, Metric]:
    """Return a metric whose cap pays for ``values`` values."""
    mechanism = MECHANISMS[name]
    metric = Metric("asked", StringQuestion() if mechanism.items.open else ChoiceQuestion(tuple(VALUES)), mechanism)
    return {"asked": dataclasses.replace(metric, cap=(values + 0.5) * metric.charge)}


def rows(bodies: list[bytes], mechanism: Mechanism) -> list[Report]:
    return [Report.decode(Batch.decode(body).reports, mechanism) for body in bodies]


def stored(folder: Path) -> list[Record]:
    return from_lines((folder / "journal").read_bytes())[0]


def keys_of(folder: Path) -> Keys:
    return Keys(bytes.fromhex((folder / "secret").read_text().split()[2]))


@pytest.mark.parametrize("name", MECHANISMS)
def test_new_value_beyond_the_budget_repeats_the_last_draw(
    make: Make, state: State, calendar: Calendar, name: str
) -> None:
    """Three values that mark different cells, of which two are paid for; restarted and tidied after each report."""
    for number in range(100):  # a metric whose cohort separates three values; usually the first does
        metric = dataclasses.replace(question(name, values=2)["asked"], name=f"asked_{number}")
        metrics = {metric.name: metric}
        make(state, metrics=metrics)  # the consent given here draws a secret
        journal = parts_on(state, metrics=metrics).journal
        with journal.transaction():
            cohort = journal.keys().of(metric).cohort
        by_cells = {tuple(sorted(metric.mechanism.marked(metric.item(value), cohort))): value for value in VALUES}
        if len(by_cells) >= 3:
            break
    a, b, c, *_ = by_cells.values()
    for value in (a, b, a, c, c, b, c):
        client = make(state, metrics=metrics)
        client.record(metric.name, value)
        calendar.pass_days(1)
        compact(state, calendar, metrics=metrics)
    first, second, *others = [report.payload for report in rows(client.preview(), metric.mechanism)]
    assert others == [first, first, first, second, second], "c repeats the last draw: first a, then b"
    assert client.status().metrics[0].spent <= 2.5 * metric.charge


@pytest.mark.parametrize("name", MECHANISMS)
def test_folder_stores_no_value_and_no_day_with_a_tag(make: Make, folder: Path, calendar: Calendar, name: str) -> None:
    metrics = question(name, values=30)
    client = make(folder, metrics=metrics)
    for value in ("value 3", "value 40", "value 5", "value 40", "value 40"):
        client.record("asked", value)
        calendar.pass_days(1)
    records, keys, metric = stored(folder), keys_of(folder), metrics["asked"]
    first_debit = next(place for place, record in enumerate(records) if isinstance(record, Debit))
    kept = [record for record in records if isinstance(record, Permanent)]
    assert len(kept) == 1, "only the last draw is stored"
    assert keys.of(metric).replay(kept[0]) == keys.of(metric).draw(metric.item("value 40"))
    remembered = [place for place, record in enumerate(records) if isinstance(record, Permanent | Charged)]
    assert max(remembered) < first_debit, "no record of an earlier day follows a debit"
    tags = [record.tag for record in records if isinstance(record, Charged)]
    assert tags == sorted(tags)
    masked = int(kept[0].draw, 16) >> 64
    assert masked != keys.of(metric).draw(metric.item("value 40"))


def test_a_program_of_a_later_day_compacts_draws_though_it_reports_nothing(
    make: Make, folder: Path, calendar: Calendar
) -> None:
    """Otherwise their place behind a debit would tell, until the next report, on which day the answer was new."""
    metrics = question("rappor")
    make(folder, metrics=metrics).record("asked", "firefox")
    for days, is_due in ((0, False), (1, True)):
        calendar.pass_days(days)
        journal = parts_on(folder, today=calendar, metrics=metrics).journal
        journal.refresh()
        assert journal.needs_compaction == is_due
        journal.close()


def test_stored_draw_of_a_string_reveals_nothing_and_has_one_length(make: Make, folder: Path) -> None:
    keys, metric = Keys(b"k" * 32), question("rappor")["asked"]
    values = [b"", b"firefox", b"x" * 5000, "ü€𐍈".encode()]
    kept = [keys.of(metric).kept(keys.of(metric).tag(value), keys.of(metric).draw(value)) for value in values]
    assert {len(record.draw) for record in kept} == {2 * (metric.mechanism.row_format.payload_bytes + 8)}
    make(folder, metrics=question("rappor")).record("asked", "firefox")
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    for telling in (b"firefox", b"firefox".hex().encode(), hashlib.sha256(b"firefox").hexdigest().encode()):
        assert telling not in everything


def test_a_draw_of_another_device_is_refused(make: Make, folder: Path, tmp_path: Path, calendar: Calendar) -> None:
    """A draw is refused also after another device's secret replaced the file, whatever the next answer."""
    metric = question("rappor")["asked"]
    here, there = Keys(b"a" * 32), Keys(b"b" * 32)
    record = here.of(metric).kept(here.of(metric).tag(b"x"), here.of(metric).draw(b"x"))
    assert Keys(b"a" * 32).of(metric).replay(record) == here.of(metric).draw(b"x")
    for bad in (record._replace(draw=record.draw[:-2]), record._replace(draw="ab" * 9), record._replace(tag="x" * 32)):
        with pytest.raises(DitherError):
            Keys(b"a" * 32).of(metric).replay(bad)
    with pytest.raises(DitherError):
        there.of(metric).replay(record)
    make(folder, metrics=question("rappor")).record("asked", "x")
    make(tmp_path / "other", metrics=question("rappor")).record("asked", "x")
    (tmp_path / "other" / "secret").replace(folder / "secret")
    calendar.pass_days(1)
    for value in ("x", "y"):
        client = make(folder, metrics=question("rappor"))
        client.record("asked", value)
        assert client.status().trouble == {"record failed: DitherError": 1}


def test_when_the_last_draw_is_lost_a_new_value_beyond_the_budget_is_silent(
    make: Make, folder: Path, calendar: Calendar
) -> None:
    metrics = question("rappor", values=1)
    make(folder, metrics=metrics).record("asked", "a")
    journal = folder / "journal"
    lines = [line for line in journal.read_bytes().splitlines(True) if b" permanent " not in line]
    journal.write_bytes(b"".join(lines))
    calendar.pass_days(1)
    client = make(folder, metrics=metrics)
    client.record("asked", "b")
    (problem,) = client.status().trouble
    assert problem.startswith("record failed: StateError, the last permanent draw is lost")
    assert client.status().queued == 1


def test_permanent_draw_is_recorded_unless_it_repeats_the_last_one() -> None:
    metric, keys, ledger = question("local-hashing")["asked"], Keys(bytes(32)), Ledger()
    (first, first_kept), (second, second_kept) = (recall(metric, item, keys, ledger) for item in (0, 1))
    assert first_kept is not None
    assert second_kept is not None
    for again, drawn, kept in ((0, first, first_kept), (1, second, second_kept)):
        ledger.apply(kept)
        assert recall(metric, again, keys, ledger) == (drawn, None)
    assert recall(metric, 0, keys, ledger) == (first, first_kept)


def test_keys_derive_the_documented_bytes() -> None:
    """Compute them from hashlib alone, for all values, because most values keep their symbol."""
    metric, secret = question("local-hashing")["asked"], bytes(range(32))
    version = metric.version.encode()

    def stream(*context: bytes) -> bytes:
        parts = b"".join(len(part).to_bytes(4, "big") + part for part in (secret, *context))
        return hashlib.shake_256(parts + bytes(4)).digest(512)

    keys, mechanism = Keys(secret), metric.mechanism
    word = int.from_bytes(stream(b"cohort", version)[:8], "big")
    cohort = word % mechanism.cohorts  # (no rejection: the word is far from 2^64)
    assert keys.of(metric).cohort == cohort
    threshold = int(mechanism.permanent_truth * 2**64)  # type: ignore[attr-defined]
    changed = 0
    for item in range(len(VALUES)):
        symbol = mechanism.marked(item, cohort)[0]
        context = version, cohort.to_bytes(4, "big"), symbol.to_bytes(4, "big")
        assert keys.of(metric).tag(item) == stream(b"charged", *context)[:16].hex()
        drawn, expected = stream(b"permanent", *context), symbol
        if int.from_bytes(drawn[:8], "big") >= threshold:
            other = int.from_bytes(drawn[8:16], "big") % (mechanism.cells - 1)
            expected = other + (other >= symbol)
        assert keys.of(metric).draw(item) == expected
        changed += expected != symbol
    assert 0 < changed < len(VALUES)
    mask = stream(b"kept", version, b"0123")[:9]
    plain = bytes([expected, 0, 0, 0, 0, 0, 0, 0, 0])
    assert keys.of(metric).kept("0123", expected).draw == bytes(a ^ b for a, b in zip(plain, mask, strict=True)).hex()


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
