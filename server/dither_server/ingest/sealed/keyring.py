"""The seal keys that are valid now, and the pools of reports that may be sealed for them."""

import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dither_shared import Metric
from dither_shared.seal_key import SealKey, Suite
from dither_shared.sealed import Pool

from .hpke import Opener, opener
from .key_file import KeyFile


class Keyring:
    """The keys of a file, oldest first, read again when the file has changed. Safe to use from many threads.

    Each method raises ParameterError if the file cannot be used, and if there are keys but no ``cryptography``.
    """

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._state: tuple[int, ...] = ()
        self._keys: list[tuple[SealKey, Opener]] = []
        self._reading = threading.Lock()

    def known(self) -> list[SealKey]:
        """Return the public keys that are valid now."""
        return [key for key, _ in self._current()]

    def suites(self) -> list[Suite]:
        """Return the suites for which there is a key."""
        return list({key.suite.name: key.suite for key in self.known()}.values())

    def openers(self, suite: Suite) -> list[Opener]:
        """Return functions that open rows sealed with a suite, the newest key first."""
        return [one for key, one in reversed(self._current()) if key.suite == suite]

    def _current(self) -> list[tuple[SealKey, Opener]]:
        with self._reading:
            state = self._file.state
            if state != self._state:
                self._keys = [(one.public, opener(one.public, one.private)) for one in self._file.read()]
                self._state = state  # from before it was read: a change since then is seen the next time
            return self._keys


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
