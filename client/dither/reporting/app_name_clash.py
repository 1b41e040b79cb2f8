"""App name clash: detect two apps of one name, which share a folder, and so consent, secret and outbox.

The symptom is that a metric is asked in one version, then in another, and then in the first again, within a few days.
An update of an app changes versions, too, but does not go back. So at its start each program notes in the small file
``versions`` which versions it asks: for each metric the last ones, and the days on which they first appeared, as
"<name> <version> <day> <version> <day>", separated by semicolons.
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
    from ..state.folder import State

ADVICE = "give each app its own name, such as org.example.notes"
_HEAD = "two apps, or two versions of one app, use the name "
_RECENT = 14
"""Days after which a return to an earlier version may be a downgrade by the user."""

_MOST_NOTED = 100
"""Maximum number of metrics of a program, by name, whose versions are noted."""

_MOST_KEPT = 300
"""Maximum number of metrics of all programs."""

_Came = list[tuple[str, int]]
"""The last three versions of a metric, with the day on which each replaced another."""


class NameWatch:
    """Notes which versions a program of ``app`` asks, and warns once if another app seems to use the same name."""

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
        """Note, once, which versions this program asks, and check; a failure is ignored, as a later start retries."""
        if self.noted_versions:
            return
        self.noted_versions = True
        notes = noted(self._notes(), self._metrics, self._today().toordinal())
        if notes is not None:
            with suppress(StateError, OSError):
                self._state.remember("versions", notes)
        self.look()

    def look(self) -> None:
        """Warn, unless already done, if programs alternate between two versions of a metric."""
        if self._warned:
            return
        today = self._today().toordinal()
        for name, day in _returns_in(self._notes()).items():
            if name in self._metrics and today - day <= _RECENT:
                self._warned = True
                self._diagnostics.trouble(
                    f"{_HEAD}{self._app!r}: metrics.{name} alternates between two versions", ADVICE
                )
                return

    def _notes(self) -> bytes:
        with suppress(StateError, OSError):
            return self._state.recall("versions")
        return b""


def is_about_app_name_clash(note: str) -> bool:
    """Return whether a note of the diagnostics is of this kind; then nothing has failed."""
    return note.startswith(_HEAD)


def noted(data: bytes, metrics: Mapping[str, Metric], today: int) -> bytes | None:
    """Return the notes ``data``, updated for a program that starts now and asks ``metrics``; None if nothing is new."""
    known, new = _read(data), False
    for name in sorted(metrics)[:_MOST_NOTED]:
        came, version = known.pop(name, []), metrics[name].version
        if not came or came[-1][0] != version:
            came, new = [*came, (version, today)][-3:], True
        known[name] = came  # after those of other programs, which are forgotten first
    kept = [*known.items()][-_MOST_KEPT:]
    lines = (" ".join([name, *(f"{version} {day}" for version, day in came)]) for name, came in kept)
    return ";".join(lines).encode("ascii") if new else None


def _returns_in(data: bytes) -> dict[str, int]:
    """Return, by metric, the day on which a program with an earlier version started after another had replaced it."""
    return {name: came[2][1] for name, came in _read(data).items() if len(came) == 3 and came[0][0] == came[2][0]}


def _read(data: bytes) -> dict[str, _Came]:
    """Return the notes; none if anything is wrong with them."""
    try:
        return dict(_came(note.split(" ")) for note in data.decode("ascii").split(";") if note)
    except ValueError:
        return {}


def _came(fields: list[str]) -> tuple[str, _Came]:
    return fields[0], list(zip(fields[1::2], map(int, fields[2::2]), strict=True))
