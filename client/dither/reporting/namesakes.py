"""Namesakes: detect two apps of one name, which share a folder, and so consent, secret and outbox.

What can be known is that a metric was asked in one version, then in another, and then in the first again, within a few
days. An update of an app changes versions too, but does not go back. Reports show it (ledger.py), unless one of the
two always comes first and the other's answers are ignored. So each program also notes which versions it asks when it
starts, in the small file ``versions``: for each metric the last versions, and the days on which they came.
"""

import json
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from datetime import date

from dither_shared.metrics.metric import Metric

from ..diagnostics import Diagnostics
from ..state.state import StateError
from .journal import Journal

__all__ = ["ADVICE", "OWN_NAME", "NameWatch", "is_about_namesakes", "namesakes", "noted", "returns_in"]

OWN_NAME = "such as org.example.notes"
ADVICE = f"give each app a name of its own, {OWN_NAME}"
_HEAD = "two apps, or two versions of one, go by the name "
_RECENT = 14
"""Days after which a metric that went back to a former version may have been a user who did."""

_MOST_NOTED = 100
"""Metrics of a program, by name, of which a note is made."""

_MOST_KEPT = 300
"""Metrics of all programs."""

_Came = list[tuple[str, int]]
"""The last three versions of a metric, and on which day each came after another."""


class NameWatch:
    """Notes which versions a program of ``app`` asks, and warns once if another app seems to go by that name."""

    def __init__(
        self,
        app: str,
        metrics: Mapping[str, Metric],
        journal: Journal,
        today: Callable[[], date],
        diagnostics: Diagnostics,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._journal = journal
        self._today = today
        self._diagnostics = diagnostics
        self._warned = False

    def note_versions(self) -> None:
        """Note which versions this program asks; best effort, for another start may note them."""
        notes = noted(self._notes(), self._metrics, self._today().toordinal())
        if notes is not None:
            with suppress(StateError, OSError):
                self._journal.state.remember("versions", notes)

    def look(self, *, at_notes: bool = False) -> None:
        """Warn, if not done before, by what the journal tells and, ``at_notes``, by what programs noted."""
        notes = self._notes() if at_notes else b""
        returns = self._journal.ledger.returns
        if (returns or notes) and not self._warned:
            returns = {**returns_in(notes), **returns}
            found = namesakes(self._app, self._metrics, returns, self._today().toordinal())
            if found is not None:
                self._warned = True
                self._diagnostics.note(found, ADVICE)

    def _notes(self) -> bytes:
        with suppress(StateError, OSError):
            return self._journal.state.recall("versions")
        return b""


def namesakes(app: str, metrics: Container[str], returns: Mapping[str, int], today: int) -> str | None:
    """Return in words that another app of this name is about, and by which metric it shows; None if none is known.

    ``returns`` are the days on which metrics went back to a version that another had replaced.
    """
    for name, day in returns.items():
        if name in metrics and today - day <= _RECENT:
            return f"{_HEAD}{app!r}: metrics.{name} is asked in two versions by turns"
    return None


def is_about_namesakes(note: str) -> bool:
    """Return whether a note of the diagnostics is of this kind; nothing has failed then."""
    return note.startswith(_HEAD)


def noted(data: bytes, metrics: Mapping[str, Metric], today: int) -> bytes | None:
    """Return the notes ``data`` and that a program starts now that asks ``metrics``; None if that is nothing new."""
    known, new = _read(data), False
    for name in sorted(metrics)[:_MOST_NOTED]:
        came, version = known.pop(name, []), metrics[name].version
        if not came or came[-1][0] != version:
            came, new = [*came, (version, today)][-3:], True
        known[name] = came  # behind those of others, which are forgotten first
    return json.dumps(dict([*known.items()][-_MOST_KEPT:])).encode("ascii") if new else None


def returns_in(data: bytes) -> dict[str, int]:
    """Return, by metric, the day on which a program started that asks a version which another had replaced."""
    return {name: came[2][1] for name, came in _read(data).items() if len(came) == 3 and came[0][0] == came[2][0]}


def _read(data: bytes) -> dict[str, _Came]:
    """Return what was noted; whatever is wrong with it, it is as if there were nothing."""
    try:
        notes: dict[str, _Came] = json.loads(data or b"{}")
        return {str(name): [(str(version), int(day)) for version, day in came] for name, came in notes.items()}
    except Exception:
        return {}
