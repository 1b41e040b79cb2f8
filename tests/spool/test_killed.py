"""A fold that is killed anywhere and begun again counts each batch once."""

import signal
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_server.store.folds import FoldSums
from dither_spool.blobs import Folder
from dither_spool.fold import FoldStep
from dither_spool.layout import claim
from forkserver import run
from server.collecting import LAYOUT, THEME, TODAY, VERSION, rows_of, upload
from server.database import url_of
from spool.spooling import (
    FILLED,
    Delivery,
    KilledError,
    assert_same,
    at,
    deliver,
    emptied,
    folded,
    folding,
    opened,
    put,
    some,
)

BUCKET = (FoldStep.FOLDED, FoldStep.ADDED, FoldStep.REMEMBERED)
ENDS = [
    *((step, 6 if step in BUCKET else 1) for step in FoldStep),
    # The first bucket and the last go the way of the sixth, and the second segment that of the first.
    *(pytest.param(step, time, marks=pytest.mark.slow) for step in BUCKET for time in (1, len(FILLED))),
    pytest.param(FoldStep.DELETED, 2, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("step", "time"), ENDS, ids=lambda one: one.name if isinstance(one, FoldStep) else str(one))
def test_fold_that_is_killed_after_a_step_counts_each_batch_once_when_begun_again(
    counts: Store, blobs: Folder, tmp_path: Path, step: FoldStep, time: int
) -> None:
    sent, later = some(200, 5), some(60, 6)
    deliver(blobs, sent, 5)
    with pytest.raises(KilledError):
        folded(folding(counts, blobs, after=at(step, time)))
    deliver(blobs, sent[:40] + later, 6)
    reports = folded(folding(counts, blobs))
    assert_same(counts, tmp_path, sent + later)
    assert emptied(blobs)
    is_left = step < FoldStep.CLOSED
    assert [report.resumed for report in reports] == ([True, False] if is_left else [False])
    if is_left:  # its report includes the work of the killed run
        assert reports[0].sums.batches == 200
    assert reports[-1].sums.batches == 60
    assert folded(folding(counts, blobs))[0].sums == FoldSums()


KILLED = """
import os, signal, sys
from dataclasses import replace
from dither_server.cli.main import cli
from dither_spool.fold import Folding, FoldStep

step, left = FoldStep(int(sys.argv[1])), int(sys.argv[2])
fold = Folding.fold

def after(done):
    global left
    left -= done is step
    if done is step and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Folding.fold = lambda self, wait: fold(replace(self, after=after), wait)
if __name__ == "__main__":  # and not in a process that it starts
    cli(["fold", *sys.argv[3:]])
"""


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_the_command_is_killed_at_each_step(
    kind: str, blobs: Folder, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = url_of(tmp_path) if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    with closing(opened(url)) as store:
        claim(blobs, store.identity())
        sent: list[Delivery] = []
        for step in FoldStep:
            sent += (more := some(30, 200 + step))
            deliver(blobs, more + sent[:step], step)
            time = 7 if step in BUCKET else 1
            arguments = ("-c", KILLED, str(int(step)), str(time), "--spool", str(blobs), "--db", url)
            killed = run(*arguments, cwd=tmp_path)
            assert killed.returncode == -signal.SIGKILL, (step, killed.stderr)
        folded(folding(store, blobs))
        assert_same(store, tmp_path, sent)
        assert emptied(blobs)
        assert folded(folding(store, blobs))[0].sums == FoldSums()


@pytest.mark.parametrize(
    "step",
    [
        # They are noted with the counts of their bucket: just before and just after is what matters.
        pytest.param(step, marks=() if step in {FoldStep.FOLDED, FoldStep.ADDED} else pytest.mark.slow)
        for step in list(FoldStep)[:6]
    ],
)
def test_conflicts_are_refused_once_wherever_the_fold_is_killed(counts: Store, blobs: Folder, step: FoldStep) -> None:
    sent = [delivery for delivery in some(60, 19) if delivery.upload.metric is not LAYOUT]
    others = [
        delivery._replace(
            upload=upload(VERSION, rows_of(VERSION, 3, b"other"), delivery.upload.batch), day=TODAY - timedelta(days=1)
        )
        for delivery in sent[:20]
    ]
    put(blobs, sent)
    put(blobs, others)
    with pytest.raises(KilledError):
        folded(folding(counts, blobs, after=at(step, 1)))
    (report, _) = folded(folding(counts, blobs))
    refused = counts.refusals.read()
    assert sum(refused.values()) == report.sums.conflicts == 20
    assert {refusal.kind for refusal in refused} == {"batch-conflict"}
    assert {(refusal.metric, refusal.version) for refusal in refused} <= {
        (metric.name, metric.version) for metric in (THEME, VERSION)
    }
    assert {refusal.day for refusal in refused} <= {TODAY + timedelta(days=days) for days in (-1, 0, 1)}
