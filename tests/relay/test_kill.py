"""Kill -9 at every step of a round, and amid arrivals: an acknowledged report arrives once."""

import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from forkserver import run
from relay.fake_collector import collecting
from relay.relaying import PATIENCE, POOLS, hold, rounds, rows, running, send, stored, until_ready

STEPS = [
    f"{when} {step} {turn}"
    for step, turns in (("freeze", [0]), ("post", [0]), ("leave", [1, 3]), ("checkpoint", [0]), ("drop", [0]))
    for turn in turns
    for when in ("before", "within", "after")
    if when != "within" or step in {"freeze", "leave"}
]
"""The first post, and of its four bodies the second and the last."""

_WORK = """
import os, signal, sys
from pathlib import Path
from dither_relay import collector
from dither_relay.store import store, RelayStore
from relay.relaying import hold, rounds, rows, stored, waiting

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def deadly(target, name, when, turn):
    whole, seen = getattr(target, name), []
    def step(*arguments):
        seen.append(0)
        if len(seen) - 1 != turn:
            return whole(*arguments)
        if when == "before":
            die()
        whole(*arguments)
        die()
    setattr(target, name, step)

def in_a_child(work):
    if (child := os.fork()) == 0:
        with stored(Path(sys.argv[1]), {"batch_limit": 10}) as opened:
            work(opened, rounds(opened, sys.argv[2]))
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def deadly_round(point, number):
    def work(opened, one):
        hold(opened, rows(32, number))
        when, step, turn = point.split()
        if when == "within":  # its statements are executed, and not committed
            deadly(store, {"freeze": "freeze_batches", "leave": "delete_if_empty"}[step], "after", int(turn))
        else:
            deadly(collector.CollectorClient if step == "post" else RelayStore, step, when, int(turn))
        one.freeze()
        one.post({})
        one.tidy()
    return work

def whole_round(number):
    def work(opened, one):
        hold(opened, rows(32, number))  # the devices saw no answer, and send again
        one.freeze()
        assert one.post({}).is_over
        one.tidy()
        assert waiting(opened) == [(0, 0, 32 * (number + 1), 0)], waiting(opened)
    return work

for number, point in enumerate(sys.argv[3:]):
    print(point, in_a_child(deadly_round(point, number)), in_a_child(whole_round(number)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no fork")
def test_kill_at_every_step_of_a_round(tmp_path: Path) -> None:
    """Each process is killed in a round of four bodies, and the next one resumes."""
    with collecting(POOLS, batch_limit=10) as collector:
        path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        result = run("-c", _WORK, str(tmp_path), collector.url, *STEPS, check=True, env=path)
        assert result.stdout.splitlines() == [f"{point} -9 7" for point in STEPS], result.stderr
        assert collector.rows() == Counter(row for number in range(len(STEPS)) for row in rows(32, number))


def test_reports_acknowledged_before_a_kill_are_forwarded_once(tmp_path: Path) -> None:
    acknowledged: list[bytes] = []
    enough = threading.Event()
    some = rows(6000)
    with collecting(POOLS) as collector:
        with running(tmp_path, collector.url) as (url, process):
            until_ready(url)

            def device(first: int) -> None:
                for row in some[first : first + 1000]:
                    try:
                        if send(url, row) == 202:
                            acknowledged.append(row)
                    except OSError:
                        return
                    if len(acknowledged) > 200:
                        enough.set()

            devices = [threading.Thread(target=device, args=(first,)) for first in range(0, 6000, 1000)]
            for one in devices:
                one.start()
            assert enough.wait(PATIENCE)
            process.kill()
            for one in devices:
                one.join(PATIENCE)
        with stored(tmp_path) as store:
            hold(store, acknowledged[:100])  # devices whose answer was lost
            one_round = rounds(store, collector.url)
            one_round.freeze()
            assert one_round.post({}).is_over
    counted = collector.rows()
    assert set(counted.values()) == {1}
    assert set(acknowledged) <= counted.keys() <= set(some)
