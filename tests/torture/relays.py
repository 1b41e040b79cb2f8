"""A relay and a collector as processes that are killed and begun again, and ``dither-relay forward`` beside them."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self

from dither.reporting.bodies import sealed
from dither_relay.store import RelayStore
from dither_server.ingest.seal_keys import SecretKey
from dither_shared import Batch, Metric
from forkserver import start
from relay.relaying import url_of as relay_url
from server.collecting import METRICS_TOML, STRATA_TOML, environment, rows_of
from server.database import url_of
from server.ingest.sealed.sealing import keep
from server.test_process import PATIENCE

BATCH = 20
"""Fewest reports that leave together."""

_BODY = 12
"""Most reports of a body: a pool of a round takes some."""

_ROUND = """
import os, signal, sys
from dither_relay import cli as commands
from dither_relay.collector import CollectorClient
from dither_relay.forwarding import Rounds

place, seen = int(sys.argv[1]), 0
freeze, post, tidy = Rounds.freeze, CollectorClient.post, Rounds.tidy

def passed(*_):
    global seen
    seen += 1
    if seen == place:
        os.kill(os.getpid(), signal.SIGKILL)

def begin(*arguments):
    sys.setprofile(passed)
    freeze(*arguments)

def on_its_way(*arguments):
    print("posting", flush=True)
    return post(*arguments)

def end(*arguments):
    sys.setprofile(None)  # to tidy up takes the most calls, and changes the least
    tidy(*arguments)
    print("places", seen, flush=True)

Rounds.freeze, CollectorClient.post, Rounds.tidy = begin, on_its_way, end
commands._TRIES = 1  # a collector that was killed is begun again by us; then so is the command
commands.cli(sys.argv[2:])
"""


class Place(NamedTuple):
    """Where a process writes its log, and the URL of its database."""

    folder: Path
    url: str

    @property
    def settings(self) -> dict[str, str]:
        """Where a collector finds its database, and the keys that are kept beside its log."""
        return {"DITHER_DB": self.url, "DITHER_SEAL_KEYS": f"{self.folder}/seal-keys.json"}

    @classmethod
    def collector(cls, folder: Path, url: str | None = None) -> Self:
        """The place of a collector; its database is in the folder, unless a URL is given."""
        return cls(folder, url or url_of(folder))

    @classmethod
    def relay(cls, folder: Path, url: str | None = None) -> Self:
        """The place of a relay, likewise."""
        return cls(folder, url or relay_url(folder))


def write_keys(place: Place, keys: Sequence[SecretKey], device: SecretKey) -> None:
    """Let a collector hold keys, of which devices use one."""
    seal = f'[seal]\nkey = "{device.public}"\n'
    (place.folder / "metrics.toml").write_text(METRICS_TOML + STRATA_TOML + seal, encoding="utf-8")
    keep(place.folder / "seal-keys.json", *keys)


def sealed_report(
    chance: random.Random, metric: Metric, key: SecretKey, stratum: str | None, answer: str
) -> tuple[bytes, bytes]:
    """Return a fresh row of a device, and the body in which it posts the row to a relay."""
    row = rows_of(metric, 1, chance.randbytes(16), answer)
    one = Batch(chance.randbytes(16).hex(), metric.name, metric.version, row, stratum)
    return row, sealed(one, replace(metric, seal=key.public, period="once"), 1)


def no_hour() -> str:
    """Return an hour that is over, so that relays forward only what was missed."""
    return f"{datetime.now(UTC) - timedelta(hours=2):%H:%M}"


class _Process:
    """A process that says on stdout how far it is. ``log`` receives its stderr."""

    def __init__(self, log: Path, command: Sequence[str], more: dict[str, str]) -> None:
        with log.open("a", encoding="utf-8") as errors:
            self.process = start(*command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **more})

    def line(self) -> str:
        """Return the next line of its output; empty if it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ended(self) -> int:
        """Wait until it has ended; return how."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def end(self, how: signal.Signals) -> int:
        """Send it a signal, unless it has ended; return how it ended."""
        self.process.send_signal(how)
        return self.ended()


class Collecting(_Process):
    """A collector. It listens at the same port each time: that is where the relay looks for it."""

    def __init__(self, place: Place, port: int) -> None:
        log = place.folder / "collector.log"
        command = ["-m", "dither_server", "run", "--port", str(port), "--rows-limit", str(_BODY), "--open", "report"]
        super().__init__(log, command, {**environment(place.folder), **place.settings})
        self.url = self.line()
        assert self.url.startswith("http"), log.read_text("utf-8")


class _OfRelay(_Process):
    def __init__(self, place: Place, collector: str, dies: int, name: str, *options: str) -> None:
        command = ["-c", _ROUND, str(dies), name, "--batch", str(BATCH), *options]
        where = {"DITHER_RELAY_DB": place.url, "DITHER_RELAY_COLLECTOR": collector}
        paths = os.pathsep.join(path for path in sys.path if path)
        super().__init__(place.folder / "relay.log", command, {**where, "PYTHONPATH": paths})
        self.places = self.bodies = 0

    @property
    def how_far(self) -> str:
        """How far its round was."""
        return "amid bodies" if self.bodies else "before the first body"

    def round_ends(self) -> bool:
        """Wait until a round is over, and return True; False if the process has ended before."""
        while line := self.line():
            self.bodies += line == "posting"
            if line.startswith("places"):
                self.places = int(line.removeprefix("places"))
                return True
        return False


class Relaying(_OfRelay):
    """A relay. It makes up at once for an hour that was missed, and dies at that call of a round, unless it is 0."""

    def __init__(self, place: Place, collector: str, at: str, *, missed: bool = False, dies: int = 0) -> None:
        if missed:
            with closing(RelayStore(place.url, create=False)) as store:
                store.use_hour(date(2020, 1, 1))
        super().__init__(place, collector, dies, "run", "--port", "0", "--at", at)
        self.url = self.line()


class Forwarding(_OfRelay):
    """The command that forwards now, beside a relay. It dies at that call of its round, unless it is 0."""

    def __init__(self, place: Place, collector: str, dies: int = 0) -> None:
        super().__init__(place, collector, dies, "forward")

    def result(self) -> int:
        """Wait until it has ended, and return how."""
        self.round_ends()
        return self.ended()
