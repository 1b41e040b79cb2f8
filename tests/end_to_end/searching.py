"""Search the memory and files of a process for any of many byte strings at once."""

import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PIECE", "Needles", "disk", "memory"]

PIECE = 1 << 20
"""Bytes that are searched at a time."""

_WORD = 8
_BITS = 20
"""Of the table, which fits a cache."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio (Knuth, volume 3, 6.4): its product spreads words over a table."""

Words = np.ndarray[Any, np.dtype[np.uint64]]
Places = np.ndarray[Any, np.dtype[np.int64]]


class Needles:
    """Byte strings of 8 bytes or more, each looked for at every offset of the searched bytes."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._by_word: dict[int, list[bytes]] = defaultdict(list)
        self._longest = 0
        for needle in needles:
            assert len(needle) >= _WORD
            self._by_word[int.from_bytes(needle[:_WORD], "little")].append(needle)
            self._longest = max(self._longest, len(needle))
        self._words = np.array(sorted(self._by_word), "<u8")
        self._table = np.zeros(1 << _BITS, bool)
        self._table[_places(self._words)] = True

    def found(self, contents: Iterable[bytes]) -> set[bytes]:
        """Return the needles that stand in any of these contents."""
        return {
            needle
            for content in contents
            for start in range(0, len(content), PIECE)
            for needle in self._within(content[start : start + PIECE + self._longest])
        }

    def _within(self, piece: bytes) -> Iterator[bytes]:
        for offset in range(min(_WORD, len(piece) // _WORD)):
            words = np.frombuffer(piece, "<u8", (len(piece) - offset) // _WORD, offset)
            likely = np.flatnonzero(self._table.take(_places(words)))
            for place in likely[np.isin(words[likely], self._words)].tolist():
                for needle in self._by_word[int(words[place])]:
                    if piece.startswith(needle, _WORD * place + offset):
                        yield needle


def _places(words: Words) -> Places:
    """Return for each word its place in the table."""
    places = words * _FACTOR
    places >>= np.uint64(64 - _BITS)
    return places.view(np.int64)  # by unsigned places numpy looks up half as fast


def disk(folder: Path) -> list[bytes]:
    """The content of every file below a folder."""
    return [file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()]


def memory(process: subprocess.Popen[str]) -> list[bytes]:
    """All that a process may write, as it is at one moment."""
    with _standing_still(process), Path(f"/proc/{process.pid}/mem").open("rb", 0) as content:
        found = []
        for line in Path(f"/proc/{process.pid}/maps").read_text("utf-8").splitlines():
            ends, rights, *_ = line.split()
            begin, end = (int(one, 16) for one in ends.split("-"))
            if rights.startswith("rw"):
                content.seek(begin)
                found.append(content.read(end - begin))
                assert len(found[-1]) == end - begin, line
    return found


@contextmanager
def _standing_still(process: subprocess.Popen[str]) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        state = Path(f"/proc/{process.pid}/stat")
        while state.read_text("utf-8").rpartition(")")[2].split()[0] != "T":  # it may be no child of ours to wait for
            pass
        yield
    finally:
        process.send_signal(signal.SIGCONT)
