"""A fold that is killed anywhere and begun again counts each batch once."""

import signal
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_server.store.folds import FoldSums
from dither_spool.blobs import Folder
from dither_spool.fold import FoldStep
from dither_spool.layout import claim
from forkserver import run
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
