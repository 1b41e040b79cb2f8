"""Two relays replay one device's sealed row in many bodies, each with other rows, to read it: it is counted once.

The bodies go to two collectors of one database, before and after the key is rotated, a collector is killed, and the
row's key is retired.
"""

import json
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from dither_server.ingest.seal_keys import SecretKey
from dither_server.store import Sealed, Store
from dither_server.tally.tally import Tally
from server.collecting import THEME, rows_of, running, same
from server.database import url_of
from server.ingest.sealed.sealing import batch_of, drawn, keep, pool, seal
from torture.devices import post_sealed


class Receipt(NamedTuple):
    """What a collector answers: the status, and how many rows it took and refused."""

    status: int
    accepted: int
    refused: int


def _posted(url: str, body: bytes, peer: str) -> Receipt:
    response, content = post_sealed(url, body, peer)
    counts = json.loads(content)
    return Receipt(response.status, counts.get("accepted", 0), counts.get("refused", 0))


class _Attack:
    """One row of a device, and what relays post with it."""

    def __init__(self, key: SecretKey) -> None:
        self.rows = [rows_of(THEME, 1, secrets.token_bytes(8))]
        self.victim = seal(self.rows[0], key.public, pool(THEME))

    def body(self, key: SecretKey) -> bytes:
        """The row with one of the relay's own, sealed for a key."""
        self.rows.append(rows_of(THEME, 1, secrets.token_bytes(8)))
        return batch_of(THEME, [self.victim, seal(self.rows[-1], key.public, pool(THEME))]).encode()

    def mount(self, urls: Sequence[str], key: SecretKey, bodies: int) -> list[Receipt]:
        """Post bodies at these collectors in turn, each from one of two relays."""
        peers = ("127.0.0.2", "127.0.0.3")
        return [_posted(urls[turn % len(urls)], self.body(key), peers[turn % 2]) for turn in range(bodies)]


def replayed(folder: Path, bodies: int, url: str | None = None, *options: str) -> tuple[int, Sealed]:
    """Post the row in four times as many bodies; return the number of counted reports, and the totals of sealed ones.

    Raises AssertionError unless each answer is that of a fresh row, and each row is counted once. ``url`` is that of
    the database; without it there is one in the folder.
    """
    database = url or url_of(folder)
    former, following = drawn(), drawn()
    attack = _Attack(former)
    arguments = ("--db", database, "--seal-keys", f"{folder}/keys.json", *options)
    path = folder / "keys.json"
    keep(path, former)
    with _collectors(folder, arguments, 2) as (urls, kill):
        receipts = attack.mount(urls, former, bodies)
        keep(path, former, following)
        receipts += attack.mount(urls, following, bodies)
        kill()
    with _collectors(folder, arguments, 2) as (urls, kill):
        receipts += attack.mount(urls, former, bodies)
        keep(path, following)
        assert set(receipts) == {Receipt(202, 2, 0)}, receipts
        receipts = attack.mount(urls, following, bodies)
        assert set(receipts) == {Receipt(202, 1, 1)}, receipts
    with closing(Store(database, create=False)) as store:
        tally, sealed = store.tally(THEME), store.sealed(THEME)
        assert same(tally, Tally.fold(THEME.mechanism, b"".join(attack.rows))), (tally.total, len(attack.rows))
        assert sealed is not None
        return tally.total, sealed


@contextmanager
def _collectors(folder: Path, arguments: Sequence[str], count: int) -> Iterator[tuple[list[str], Callable[[], None]]]:
    with ExitStack() as running_ones:
        started = [running_ones.enter_context(running(folder, *arguments)) for _ in range(count)]

        def kill() -> None:
            for _, process in started:
                process.send_signal(signal.SIGKILL)
                process.wait()

        yield [url for url, _ in started], kill
