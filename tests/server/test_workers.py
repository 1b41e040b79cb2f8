"""Several processes on one SQLite file."""

import signal
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from dither_server.store import Store
from dither_server.tally.tally import Tally
from server.collecting import THEME, at_once, batch, rows_of, running, same
from server.test_process import PATIENCE, send


def test_three_processes_count_a_batch_sent_to_each_of_them_once(tmp_path: Path) -> None:
    """Every body goes to every process, at the same time: one of them counts it, and all acknowledge it."""
    rows = [rows_of(THEME, 2, bytes([number])) for number in range(60)]
    bodies = [batch(THEME, row).encode() for row in rows]
    wait = ("--lock-wait", str(PATIENCE))
    with running(tmp_path, *wait) as one, running(tmp_path, *wait) as two, running(tmp_path, *wait) as three:
        left: list[list[bytes]] = []
        urls = [url for url, _ in (one, two, three)]
        assert len({urlsplit(url).port for url in urls}) == 3

        def deliver(turn: int) -> None:
            ordered = bodies[turn * 20 :] + bodies[: turn * 20]
            left.append(send(urls[turn], ordered, len(ordered), threading.Event()))

        at_once(deliver, 0, 1, 2)
        assert left == [[], [], []]
        for _, process in (one, two, three):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", create=False)) as store:
        assert same(store.tally(THEME), Tally.fold(THEME.mechanism, b"".join(rows)))
