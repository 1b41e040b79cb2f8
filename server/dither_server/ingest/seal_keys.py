"""The collector's seal keys: their file, those that are valid now, and the pools that may be sealed for them.

Anyone who has the file can open sealed reports, so nobody else may read it.

    {"keys": [{"key": "x25519:…", "private": "<base64url>", "made": "2026-11-20"}, …]}

It is replaced as a whole, and collectors read it again when it has changed; several may share one file.
"""

import json
import os
import stat
import tempfile
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from dither_shared import Metric, ParameterError
from dither_shared.seal_key import SealKey, Suite
from dither_shared.sealed import Pool

from ..store.engine import sync, unwritten
from ..store.lock import ProcessLock
from .hpke import Opener, opener

_WAIT = 5.0
"""Seconds to wait for another command that changes the file."""

_LONGEST = 1 << 20
"""Maximum bytes that are read of the file."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class SecretKey:
    """A key, the day on which it was made, and its private part, which is never shown."""

    public: SealKey
    made: date
    private: bytes = field(repr=False)


class KeyFile:
    """The file at a path; if there is no file, there are no keys. Safe to use from many threads.

    What opens reports is cached, and read again when the file has changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cached: list[tuple[SealKey, Opener]] = []
        self._cached_state: tuple[int, ...] = ()
        self._reading = threading.Lock()

    def known(self) -> list[SealKey]:
        """Return the public keys that are valid now, oldest first.

        Like ``suites`` and ``openers``, raises ParameterError if the file cannot be used, and if there are keys but no
        ``cryptography``.
        """
        return [key for key, _ in self._current()]

    def suites(self) -> list[Suite]:
        """Return the suites for which there is a key."""
        return list({key.suite.name: key.suite for key in self.known()}.values())

    def openers(self, suite: Suite) -> list[Opener]:
        """Return functions that open rows sealed with a suite, the newest key first."""
        return [one for key, one in reversed(self._current()) if key.suite == suite]

    def _current(self) -> list[tuple[SealKey, Opener]]:
        with self._reading:
            state = self.state
            if state != self._cached_state:
                self._cached = [(one.public, opener(one.public, one.private)) for one in self.read()]
                self._cached_state = state  # from before it was read: a change since then is seen the next time
            return self._cached

    @property
    def state(self) -> tuple[int, ...]:
        """The file's identity, which changes with its content; () if there is no file. Raises ParameterError."""
        with self._read_errors():
            try:
                seen = self.path.stat()
            except FileNotFoundError:
                return ()
        return (seen.st_ino, seen.st_mtime_ns, seen.st_size, seen.st_mode)

    def read(self) -> list[SecretKey]:
        """Return the keys, in the order in which they were made.

        Raises ParameterError, which quotes nothing from the file, if others may read it or it holds no seal keys.
        """
        with self._read_errors():
            try:
                opened = open(self.path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
            except FileNotFoundError:
                return []
            with opened as file:
                mode = os.fstat(file.fileno()).st_mode
                if not stat.S_ISREG(mode):
                    raise ParameterError(str(self.path), "not a regular file made by 'dither-server key create'")
                if os.name == "posix" and mode & _OTHERS:
                    raise ParameterError(str(self.path), f"others may read it; chmod 600 {self.path}")
                content = file.read(_LONGEST)
        try:
            keys = [_key(one) for one in json.loads(content)["keys"]]
        except (ValueError, LookupError, TypeError, AttributeError, ParameterError, RecursionError):
            raise ParameterError(
                str(self.path), "not a file made by 'dither-server key create', or damaged; restore it from a copy"
            ) from None
        return keys

    def change(self, changed: Callable[[list[SecretKey]], Sequence[SecretKey]]) -> None:
        """Replace the keys by the result of ``changed``, while no other command can change them.

        It is called twice: whether it refuses is found out first. Raises ParameterError if the file cannot be read or
        written, StoreError if another command holds it or the disk is full.
        """
        changed(self.read())  # what is refused leaves no lock file behind
        target = Path(os.path.realpath(self.path))  # a link stays one: others may read the file under its own name
        lock = ProcessLock(target.with_name(f"{target.name}.lock"), "seal keys", "another command is changing them")
        with lock.held(_WAIT):
            self._write(target, changed(self.read()))

    def _write(self, target: Path, keys: Sequence[SecretKey]) -> None:
        text = json.dumps({"keys": [_written(one) for one in keys]}, indent=1) + "\n"
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            part = Path(name)  # mkstemp lets nobody else read it
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(target)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
            if os.name == "posix":
                sync(target.parent)
        except OSError as error:
            raise unwritten(str(self.path), error) from None

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ParameterError(str(self.path), f"cannot be read: {error.strerror}") from None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting, even if it is a pipe without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _key(one: Any) -> SecretKey:
    private = urlsafe_b64decode(one["private"])
    return SecretKey(SealKey.parse(one["key"]), date.fromisoformat(one["made"]), private)


def _written(one: SecretKey) -> dict[str, str]:
    private = urlsafe_b64encode(one.private).decode("ascii")
    return {"key": str(one.public), "private": private, "made": one.made.isoformat()}


def pools(versions: Mapping[str, Mapping[str, Metric]], suites: Collection[Suite]) -> Iterator[dict[str, Any]]:
    """Yield each series of pools of these metrics, in each version: its digest, suite, and the length of a sealed row.

    Relays read this list to know which reports they may take. Digests reveal no name of a metric.
    """
    for name, of_metric in versions.items():
        for version, metric in of_metric.items():
            strata = [None] if metric.strata is None else metric.strata.labels
            for stratum in strata:
                pool = Pool(name, version, stratum, least=metric.least).digest
                for suite in suites:
                    length = metric.mechanism.row_bytes + suite.overhead
                    yield {"pool": pool, "suite": suite.name, "length": length}
