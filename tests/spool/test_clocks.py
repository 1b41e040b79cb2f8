"""A fold whose clock is wrong and set right, or that is killed under one clock and resumed under another."""

import random
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_spool.blobs import Folder, SpoolError
from dither_spool.fold import FoldStep
from dither_spool.records import day_of
from server.collecting import THEME, upload
from spool.spooling import NOW, Delivery, KilledError, at, emptied, folded, folding, opened, put, tables

CLOCKS = {
    "a day back": [0] * 2 + [-46] + [0] * 3,
    "years back": [0] * 2 + [-3650] * 2 + [0] * 3,
    "days ahead": [0] * 2 + [46] * 2 + [0] * 3,
    "years ahead, then days": [0] * 2 + [3650] + [0] * 2 + [46] + [0] * 2,
    "back and right": [0, -46, 0, -46, 0, -3650, 0],
}
"""By how many days the clock is wrong, day by day."""

JUMPS = (-3650, 46)


def fresh(dice: random.Random, day: date) -> list[Delivery]:
    """Two batches of a day, in two buckets."""
    return [Delivery(upload(THEME, b"\x00", bytes([bucket]) + dice.randbytes(15)), day) for bucket in (1, 90)]


def total(store: Store) -> int:
    """Return the number of counted reports."""
    return sum(tally.total for tally in tables(store).values())


_QUICK = {("years ahead, then days", True), ("back and right", False)}


@pytest.mark.parametrize(
    ("clock", "is_alone"),
    [
        # Each day is a fold of 256 buckets: the two of most turns, forwards and backwards, stand for the others.
        pytest.param(clock, is_alone, marks=() if (clock, is_alone) in _QUICK else pytest.mark.slow)
        for clock in CLOCKS
        for is_alone in (True, False)
    ],
)
def test_no_batch_counts_twice_while_devices_retry(counts: Store, blobs: Folder, clock: str, is_alone: bool) -> None:
    """Batches come again for 30 days, to a collector with the clock of the fold or with a right one."""
    dice, sent = random.Random(1), list[list[Delivery]]()
    for number, wrong in enumerate(CLOCKS[clock]):
        now = NOW + timedelta(days=number + wrong)
        today = now.date() if is_alone else (NOW + timedelta(days=number)).date()
        sent.append(fresh(dice, today))
        put(blobs, [Delivery(delivery.upload, today) for some in sent[-31:] for delivery in some])
        folded(folding(counts, blobs, now=lambda now=now: now))
    assert total(counts) == 2 * len(sent)
    assert len(blobs.names("ids/01")) <= len(sent)


_KILLS = {(FoldStep.LISTED, -3650), (FoldStep.LISTED, 46), (FoldStep.ADDED, 46)}
"""Before the database knows of the run, and amid its buckets. Later steps are in test_killed.py, under one clock."""


@pytest.mark.parametrize(
    ("step", "jump"),
    [
        pytest.param(step, jump, marks=() if (step, jump) in _KILLS else pytest.mark.slow)
        for step in FoldStep
        for jump in JUMPS
    ]
    + [(FoldStep.LISTED, 45)],  # the last day on which a run that was not begun is still young enough
)
def test_fold_killed_under_one_clock_is_resumed_under_another(
    counts: Store, blobs: Folder, step: FoldStep, jump: int
) -> None:
    """Either clock may be wrong. A run that is not begun yet may be too old for a clock, and says so."""
    dice = random.Random(step)
    for number, clocks in enumerate([(0, jump), (jump, 0)]):
        before = total(counts)
        some = fresh(dice, NOW.date())
        put(blobs, some)
        first, then = (NOW + timedelta(days=number + wrong) for wrong in clocks)
        with suppress(KilledError):
            folded(folding(counts, blobs, now=lambda now=first: now, after=at(step, 1)))
        if step is FoldStep.LISTED and then - first > timedelta(days=45):
            (run,) = blobs.names("runs")
            message = f"{run} began on {first:%Y-%m-%d}, the clock says {then:%Y-%m-%d}, .* delete this file if a wrong"
            with pytest.raises(SpoolError, match=message):
                folded(folding(counts, blobs, now=lambda now=then: now))
            blobs.delete("runs", run)
        folded(folding(counts, blobs, now=lambda now=then: now))
        put(blobs, some)
        folded(folding(counts, blobs, now=lambda now=then: now))
        assert (total(counts), emptied(blobs)) == (before + 2, True)


@pytest.mark.parametrize("wrong", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2180, 1, 1, tzinfo=UTC)])
def test_clock_that_no_run_can_record_begins_none(counts: Store, blobs: Folder, wrong: datetime) -> None:
    put(blobs, fresh(random.Random(4), NOW.date()))
    with pytest.raises(SpoolError, match="set the clock"):
        folded(folding(counts, blobs, now=lambda: wrong))
    folded(folding(counts, blobs))
    assert (total(counts), emptied(blobs)) == (2, True)


def test_an_older_database_with_a_newer_spool_never_counts_its_missing_batches(
    counts: Store, blobs: Folder, tmp_path: Path
) -> None:
    """The spool remembers what the lost database had counted: those reports are lost, and nothing counts twice."""
    dice = random.Random(3)
    first, second, third = (fresh(dice, NOW.date()) for _ in range(3))
    put(blobs, first)
    folded(folding(counts, blobs))
    with closing(opened(f"sqlite:///{tmp_path}/backup.db")) as backup:
        put(blobs, first)
        folded(folding(backup, Folder(tmp_path / "other")))  # stands for a copy of the database as it was
    put(blobs, second)
    folded(folding(counts, blobs))
    with closing(opened(f"sqlite:///{tmp_path}/backup.db")) as backup:
        put(blobs, [*first, *second, *third])
        folded(folding(backup, blobs))
        assert total(backup) == len(third)
        assert day_of(min(int(name[:5]) for name in blobs.names("ids/01"))) == NOW.date()
