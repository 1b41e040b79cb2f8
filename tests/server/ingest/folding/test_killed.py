"""A fold that is killed anywhere and begun again counts each batch once."""

import signal
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.ingest.folding.run import Step
from dither_server.store import Store
from dither_server.store.counting.folds import Sums
from dither_server.store.spool.owner import claim
from dither_server.store.spool.places import Folder
from forkserver import run
from server.collecting import LAYOUT, THEME, TODAY, VERSION, rows_of, upload
from server.database import url_of
from server.ingest.folding.runs import KilledError, at, emptied, folded, folding, opened
from server.ingest.folding.spooling import FILLED, Delivery, assert_same, deliver, put, some

BUCKET = (Step.FOLDED, Step.ADDED, Step.REMEMBERED)
ENDS = [
    *((step, 6 if step in BUCKET else 1) for step in Step),
    # The first bucket and the last go the way of the sixth, and the second segment that of the first.
    *(pytest.param(step, time, marks=pytest.mark.slow) for step in BUCKET for time in (1, len(FILLED))),
    pytest.param(Step.DELETED, 2, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("step", "time"), ENDS, ids=lambda one: one.name if isinstance(one, Step) else str(one))
def test_killed_after_a_step_and_begun_again(
    counts: Store, place: Folder, tmp_path: Path, step: Step, time: int
) -> None:
    sent, later = some(200, 5), some(60, 6)
    deliver(place, sent, 5)
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(step, time)))
    deliver(place, sent[:40] + later, 6)
    reports = folded(folding(counts, place))
    assert_same(counts, tmp_path, sent + later)
    assert emptied(place)
    is_left = step < Step.CLOSED
    assert [report.resumed for report in reports] == ([True, False] if is_left else [False])
    if is_left:  # what it did before it was killed is in its report, too
        assert reports[0].sums.batches == 200
    assert reports[-1].sums.batches == 60
    assert folded(folding(counts, place))[0].sums == Sums()


@pytest.mark.slow  # 22 folds; the command below is killed at each step in turn
def test_killed_again_and_again(counts: Store, place: Folder, tmp_path: Path) -> None:
    """At every step in turn, at a bucket that moves on; collectors spool meanwhile."""
    sent: list[Delivery] = []
    turns = [(step, 1 + 5 * turn % 7) for turn in range(4) for step in list(Step)[2:5]] + [(step, 1) for step in Step]
    for seed, (step, time) in enumerate(turns):
        sent += (more := some(20, 100 + seed))
        deliver(place, more + sent[: seed % 7], seed)
        with pytest.raises(KilledError):
            folded(folding(counts, place, after=at(step, time)))
    folded(folding(counts, place))
    assert_same(counts, tmp_path, sent)
    assert emptied(place)


KILLED = """
import os, signal, sys
from dataclasses import replace
from dither_server.cli.main import cli
from dither_server.ingest.folding.run import Folding, Step

step, left = Step(int(sys.argv[1])), int(sys.argv[2])
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
    kind: str, place: Folder, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = url_of(tmp_path) if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    with closing(opened(url)) as store:
        claim(place, store.identity())
        sent: list[Delivery] = []
        for step in Step:
            sent += (more := some(30, 200 + step))
            deliver(place, more + sent[:step], step)
            time = 7 if step in BUCKET else 1
            arguments = ("-c", KILLED, str(int(step)), str(time), "--spool", str(place), "--db", url)
            killed = run(*arguments, cwd=tmp_path)
            assert killed.returncode == -signal.SIGKILL, (step, killed.stderr)
        folded(folding(store, place))
        assert_same(store, tmp_path, sent)
        assert emptied(place)
        assert folded(folding(store, place))[0].sums == Sums()


@pytest.mark.parametrize(
    "step",
    [
        # They are noted with the counts of their bucket: just before and just after is what matters.
        pytest.param(step, marks=() if step in {Step.FOLDED, Step.ADDED} else pytest.mark.slow)
        for step in list(Step)[:6]
    ],
)
def test_conflicts_are_among_the_refusals_once_wherever_it_is_killed(counts: Store, place: Folder, step: Step) -> None:
    sent = [one for one in some(60, 19) if one.upload.metric is not LAYOUT]
    others = [
        one._replace(
            upload=upload(VERSION, rows_of(VERSION, 3, b"other"), one.upload.batch), day=TODAY - timedelta(days=1)
        )
        for one in sent[:20]
    ]
    put(place, sent)
    put(place, others)
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(step, 1)))
    (report, _) = folded(folding(counts, place))
    refused = counts.refusals.read()
    assert sum(refused.values()) == report.sums.conflicts == 20
    assert {one.kind for one in refused} == {"batch-conflict"}
    assert {(one.metric, one.version) for one in refused} <= {(one.name, one.version) for one in (THEME, VERSION)}
    assert {one.day for one in refused} <= {TODAY + timedelta(days=days) for days in (-1, 0, 1)}
