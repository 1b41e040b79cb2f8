"""App name clash: detect two apps of one name, which share a folder, and so consent, secret and outbox.

What can be known is that a metric was asked in one version, then in another, and then in the first again, within a few
days. An update of an app changes versions too, but does not go back. So each program notes in the small file
``versions``, when it starts, which versions it asks: of each metric the last ones, and the days on which they came, as
"<name> <version> <day> <version> <day>", one metric after the other, between semicolons.
"""

from __future__ import annotations

from dither_shared.light import suppress

from ..state.state import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from dither_shared.metrics.metric import Metric

    from ..diagnostics import Diagnostics
    from ..state.state import State

OWN_NAME = "such as org.example.notes"
ADVICE = f"give each app its own name, {OWN_NAME}"
_HEAD = "two apps, or two versions of one app, use the name "
_RECENT = 14
"""Days after which a metric that went back to an earlier version may have been a user who did."""

_MOST_NOTED = 100
"""Most metrics of a program, by name, whose versions are noted."""

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
        state: State,
        today: Callable[[], date],
        diagnostics: Diagnostics,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._state = state
        self._today = today
        self._diagnostics = diagnostics
        self.noted_versions = self._warned = False

    def note_versions(self) -> None:
        """Note, once, which versions this program asks, and look; best effort, because another start may do so."""
        if self.noted_versions:
            return
        self.noted_versions = True
        notes = noted(self._notes(), self._metrics, self._today().toordinal())
        if notes is not None:
            with suppress(StateError, OSError):
                self._state.remember("versions", notes)
        self.look()

    def look(self) -> None:
        """Warn, if not done before, if programs asked two versions of a metric by turns."""
        if self._warned:
            return
        today = self._today().toordinal()
        for name, day in _returns_in(self._notes()).items():
            if name in self._metrics and today - day <= _RECENT:
                self._warned = True
                self._diagnostics.note(f"{_HEAD}{self._app!r}: metrics.{name} alternates between two versions", ADVICE)
                return

    def _notes(self) -> bytes:
        with suppress(StateError, OSError):
            return self._state.recall("versions")
        return b""


def is_about_app_name_clash(note: str) -> bool:
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
    kept = [*known.items()][-_MOST_KEPT:]
    lines = (" ".join([name, *(f"{version} {day}" for version, day in came)]) for name, came in kept)
    return ";".join(lines).encode("ascii") if new else None


def _returns_in(data: bytes) -> dict[str, int]:
    """Return, by metric, the day on which a program started that asks a version which another had replaced."""
    return {name: came[2][1] for name, came in _read(data).items() if len(came) == 3 and came[0][0] == came[2][0]}


def _read(data: bytes) -> dict[str, _Came]:
    """Return what was noted; whatever is wrong with it, it is as if there were nothing."""
    try:
        return dict(_came(note.split(" ")) for note in data.decode("ascii").split(";") if note)
    except ValueError:
        return {}


def _came(fields: list[str]) -> tuple[str, _Came]:
    return fields[0], list(zip(fields[1::2], map(int, fields[2::2]), strict=True))
