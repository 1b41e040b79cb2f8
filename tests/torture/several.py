"""Two relays, two collectors of one database, and keys that are rotated and retired while reports wait.

Devices send each report to one relay or, if they are hostile, to both. Each relay reaches both collectors through one
address, as behind a load balancer: each connection goes to the next one. A collector or the command that forwards is
killed in each round. Each report is counted once; and each relay counts the reports of a retired key as unread, or
keeps them.
"""

import random
import selectors
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from dither_relay.store import RelayStore
from dither_server.ingest.seal_keys import SecretKey
from dither_server.store import Store
from dither_server.tally.tally import Tally
from ports import kept_port
from relay.relaying import ask, until_ready
from server.collecting import THEME, same
from server.ingest.sealed.sealing import drawn
from torture.relays import Collecting, Forwarding, Place, Relaying, no_hour, sealed_report, write_keys

_FRESH = 60
"""Reports of a round."""

_TRIES = 12


class Lost(NamedTuple):
    """The fate of the reports that nobody could open any more: unread by a collector, or kept by a relay."""

    counted: int
    unread: int
    kept: int


class _Several:
    """The processes, and the reports sent."""

    def __init__(self, folder: Path, seed: int, url: str | None, ports: list[int], stack: ExitStack) -> None:
        self.chance = random.Random(seed)
        self.place = Place.collector(folder / "collector", url)
        self.places = [Place.relay(folder / f"relay{number}") for number in range(2)]
        for place in (self.place, *self.places):
            place.folder.mkdir()
        self.keys = [drawn()]
        self._keep()
        self.ports = ports
        self.collectors = [Collecting(self.place, port) for port in ports]
        self.url = stack.enter_context(balanced(ports))
        self.relays = [Relaying(place, self.url, no_hour()) for place in self.places]
        stack.callback(self._end)
        for relay in self.relays:
            until_ready(relay.url)
        self.rows: dict[bytes, bytes] = {}

    def _keep(self) -> None:
        write_keys(self.place, self.keys, self.keys[-1])

    def rotate(self) -> SecretKey:
        """Make another key, which devices use from now on; return the former one."""
        self.keys = [self.keys[-1], drawn()]
        self._keep()
        return self.keys[0]

    def retire(self) -> None:
        """Keep only the newest key."""
        self.keys = self.keys[-1:]
        self._keep()

    def send(self, count: int = _FRESH) -> list[bytes]:
        """Let devices send fresh reports, a third of them to both relays; return them by posted body."""
        fresh = []
        for _ in range(count):
            answer = self.chance.choice(["dark", "light"])
            row, body = sealed_report(self.chance, THEME, self.keys[-1], None, answer)
            self.rows[body] = row
            fresh.append(body)
            first = self.chance.randrange(2)
            for relay in [first, 1 - first] if self.chance.random() < 1 / 3 else [first]:
                assert ask(self.relays[relay].url, "POST", "/v1/sealed", body)[0] == 202
        return fresh

    def round(self) -> None:
        """Let both relays forward at once, and kill a collector or a forwarding relay in the midst."""
        commands = [Forwarding(place, self.url, self.chance.choice([0, 0, 40, 90, 200])) for place in self.places]
        if self.chance.random() < 0.7:
            for command in commands:
                command.line()  # "posting", or "places" if there is nothing to post
            victim = self.chance.randrange(2)
            self.collectors[victim].end(signal.SIGKILL)
            self.collectors[victim] = Collecting(self.place, self.ports[victim])
        for command in commands:
            command.result()

    def finish(self) -> None:
        """Forward until all is taken, or nothing that is left will be."""
        for place in self.places:
            for _ in range(_TRIES):
                if Forwarding(place, self.url).result() == 0:
                    break

    def tally(self) -> Tally:
        with closing(Store(self.place.url, create=False)) as store:
            return store.tally(THEME)

    def lost(self) -> Lost:
        """Return the reports that both relays hold, and the unread ones."""
        unread = kept = 0
        for place in self.places:
            with closing(RelayStore(place.url, create=False, read_only=True)) as store:
                for held in store.held():
                    unread, kept = unread + held.unread, kept + held.frozen + held.waiting
        return Lost(self.tally().total, unread, kept)

    def _end(self) -> None:
        for process in (*self.relays, *self.collectors):
            if process.process.poll() is None:
                process.end(signal.SIGKILL)


def several(folder: Path, rounds: int, seed: int = 1, url: str | None = None) -> Lost:
    """Run ``rounds`` rounds, and then retire a key; return the reports lost by that.

    Raises AssertionError if a report is not counted once, or is lost without a trace. ``url`` is that of the
    collectors' database; without it there is one in the folder.
    """
    with ExitStack() as stack:
        ports = [stack.enter_context(kept_port()) for _ in range(2)]
        one = _Several(folder, seed, url, ports, stack)
        for number in range(rounds):
            one.send()
            if number == rounds // 2:
                one.rotate()
                one.send()
            one.round()
        one.send()
        one.finish()
        assert same(one.tally(), Tally.fold(THEME.mechanism, b"".join(one.rows.values()))), one.lost()
        assert one.lost() == Lost(len(one.rows), 0, 0)
        if len(one.keys) == 1:
            one.rotate()
        old = one.send()  # for a key that is not the last for long
        one.rotate()
        fresh = one.send(2 * _FRESH)
        one.retire()
        one.round()
        one.finish()
        want = [row for body, row in one.rows.items() if body not in set(old)]
        lost = one.lost()
        assert len(want) + len(old) == len(one.rows)
        assert same(one.tally(), Tally.fold(THEME.mechanism, b"".join(want))), (lost, len(want), len(fresh))
        assert lost.unread + lost.kept >= len(old), lost
        return lost


@contextmanager
def balanced(ports: list[int]) -> Iterator[str]:
    """Yield the URL of a load balancer: each connection goes to the next of these ports that takes it."""
    turn = cycle(ports)

    def connected() -> socket.socket | None:
        for _ in ports:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", next(turn)))
        return None

    def pass_on(peer: socket.socket) -> None:
        behind = connected()
        if behind is None:
            peer.close()
            return
        with peer, behind, selectors.DefaultSelector() as either, suppress(OSError):
            either.register(peer, selectors.EVENT_READ, behind)
            either.register(behind, selectors.EVENT_READ, peer)
            while True:
                for key, _ in either.select():
                    some = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]  # each is a socket
                    if not some:
                        return
                    key.data.sendall(some)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=pass_on, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
