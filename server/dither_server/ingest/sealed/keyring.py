"""The seal keys that are valid now, as a collector that runs opens with them."""

import threading
from dataclasses import dataclass

from dither_shared.sealed import SealKey, Suite

from .hpke import Opener, opener
from .key_file import KeyFile

__all__ = ["Keyring", "Keys"]


@dataclass(frozen=True)
class Keys:
    """Keys, oldest first, each with what opens rows that were sealed for it."""

    openers: tuple[tuple[SealKey, Opener], ...] = ()

    @property
    def known(self) -> list[SealKey]:
        """The public keys."""
        return [key for key, _ in self.openers]

    @property
    def suites(self) -> list[Suite]:
        """The suites for which there is a key."""
        return list({key.suite.name: key.suite for key in self.known}.values())

    def of(self, suite: Suite) -> list[Opener]:
        """Return what opens rows that are sealed by a suite, the newest key first."""
        return [one for key, one in reversed(self.openers) if key.suite == suite]


class Keyring:
    """The keys of a file, read again when it has changed. Safe to use from many threads."""

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._state: tuple[int, ...] = ()
        self._keys = Keys()
        self._reading = threading.Lock()

    def keys(self) -> Keys:
        """Return the keys that are valid now.

        Raises ParameterError if the file cannot be used, and if there are keys but no ``cryptography``.
        """
        with self._reading:
            state = self._file.state
            if state != self._state:
                read = self._file.read()
                self._keys = Keys(tuple((one.public, opener(one.public, one.private)) for one in read))
                self._state = state  # of before it was read: what changed meanwhile is seen the next time
            return self._keys
