"""kill -9 under load, again and again: each acknowledged report is counted once, bit for bit."""

import random
import threading
from pathlib import Path

from dither_server.tally.tally import Tally
from server.collecting import THEME, VERSION, batch, rows_of, running, same
from server.test_process import PATIENCE, send, tally

_BATCHES = 120
"""Fresh batches a cycle, of each metric."""


def kill_cycles(folder: Path, cycles: int, seed: int = 1) -> int:
    """Kill a collector under load several times, deliver the rest, compare; return the number of reports."""
    chance = random.Random(seed)
    sent: dict[str, list[bytes]] = {"theme": [], "version": []}
    waiting: list[bytes] = []
    for cycle in range(cycles):
        for metric in (THEME, VERSION):
            rows = [rows_of(metric, 1, b"%d %d" % (cycle, number)) for number in range(_BATCHES)]
            sent[metric.name] += rows
            waiting += [batch(metric, row).encode() for row in rows]
        chance.shuffle(waiting)
        with running(folder) as (url, process):
            kill = threading.Event()
            killer = threading.Thread(target=lambda k=kill, p=process: (k.wait(), p.kill()))
            killer.start()
            waiting = send(url, waiting, chance.randrange(1, len(waiting)), kill)
            killer.join()
            process.communicate(timeout=PATIENCE)
    with running(folder) as (url, process):
        assert send(url, waiting, len(waiting), threading.Event()) == []
        process.terminate()
        process.communicate(timeout=PATIENCE)
    for metric in (THEME, VERSION):
        assert same(tally(folder, metric), Tally.fold(metric.mechanism, b"".join(sent[metric.name]))), metric.name
    return sum(map(len, sent.values()))
