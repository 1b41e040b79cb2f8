"""Attempts: remember from run to run which uploads were tried, which failed, and which are postponed.

They are kept in a small file, ``delivery``, which is replaced when an attempt begins and when it ends. So if a program
ends during an upload, the next one knows. If the file is lost or damaged, some report is tried again too early and a
warning is logged twice; nothing that was spent or queued depends on it.
"""

from __future__ import annotations

import os
import time

from dither_shared.errors import ParameterError
from dither_shared.light import NamedTuple, new_rlock, suppress

from ..forks import importing
from ..state.state import StateError
from .schedule import Postponed
from .transport import Endpoint, without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from ..diagnostics import Diagnostics
    from ..state.folder import State

_DAY = 86400.0
_PEACE = 3600.0
"""Seconds after a failure during which no exit waits."""

_LONGEST_SENDING = 120.0
"""Seconds after which a process that sends is considered stopped or stuck."""

UNANSWERED = "the program ended before the answer came"

_LATEST = 2.5e11
"""A Unix time in the year 9892: every calendar has it, and all before."""

_MOST_HELD = 300
_MOST_KINDS = 30
_LONGEST_TEXT = 300


class Attempt(NamedTuple):
    """One try to upload a report."""

    when: datetime
    """By the clock of this computer, in its time zone."""
    endpoint: str
    accepted: bool
    result: str
    """In words: what the collector answered, or why there was no answer."""


class _Memory:
    """The content of the file: ``begun`` is when an upload began whose end was not noted, 0.0 if there is none.

    ``logged`` has the day on which each kind of failure was last logged.
    """

    def __init__(self, **known: Any) -> None:
        self.at = self.begun = self.failed_at = self.exit_at = 0.0
        self.endpoint = self.result = self.begun_to = ""
        self.accepted = False
        self.failures = 0
        self.logged: dict[str, int] = {}
        self.held: dict[str, Postponed] = {}
        for name, value in known.items():
            example = getattr(self, name)
            if type(value) is not type(example) and not (isinstance(example, float) and type(value) is int):
                raise TypeError(f"{name}: {value!r} is not a {type(example).__name__}")
            setattr(self, name, value)


class Attempts:
    """The last attempt, how many failed since the last success, and until when each report is postponed."""

    def __init__(
        self, state: State, diagnostics: Diagnostics, endpoint: object, clock: Callable[[], float] = time.time
    ) -> None:
        self._state = state
        self._diagnostics = diagnostics
        self.endpoint = without_secrets(endpoint)[:_LONGEST_TEXT]
        self.host = _host_of(self.endpoint)
        """The name of the computer at the endpoint."""
        self._clock = clock
        self._unwritten: _Memory | None = None
        self._under_way = False
        self._turn = new_rlock()
        """Held to read and rewrite the file, because the exit of the program does so beside the upload thread."""

    def last(self) -> Attempt | None:
        """Return the last attempt of any run."""
        memory = self._recall()
        if not memory.result:
            return None
        when = _moment(memory.at)
        return Attempt(when=when, endpoint=memory.endpoint, accepted=memory.accepted, result=memory.result)

    def failures(self) -> int:
        """Return how many attempts failed since the last that succeeded."""
        return self._recall().failures

    def held(self) -> Mapping[str, Postponed]:
        """Return the postponed reports, by batch id."""
        return self._recall().held

    def held_up(self) -> str:
        """Return in words which process has kept all others from sending for minutes; "" if none has."""
        with suppress(OSError, StateError, ValueError, OverflowError):
            holder = self._state.sender(_LONGEST_SENDING)
            if holder is None:
                return ""
            when = _moment(holder.since)
            who = "another process" if holder.pid is None else f"process {holder.pid}"
            who = "this process" if holder.pid == os.getpid() else who
            return f"{who} has been sending since {when:%Y-%m-%d %H:%M} and keeps all other processes from sending"
        return ""

    def warn_if_held_up(self) -> None:
        """Warn, once a day, if another process keeps this one from sending."""
        memory, words = self._recall(), self.held_up()
        if words and self._log_daily(memory, "held up", words):
            self._remember(memory)

    def begin(self) -> None:
        """Remember that an attempt begins, before its first byte; the caller must hold ``sending``."""
        with self._turn:
            memory = self._recall()
            if memory.begun:
                self._conclude(memory)
            memory.begun, memory.begun_to = self._clock(), self.endpoint
            self._under_way = True
            self._remember(memory)

    def after_fork(self) -> None:
        """Start again in a child process: the upload under way and the lock belong to the parent."""
        self._under_way, self._turn = False, new_rlock()

    def end(self) -> None:
        """Note that no attempt of this process is under way any more, whatever its outcome."""
        self._under_way = False

    def conclude(self, older: float = 0.0) -> None:
        """If a program ended before its upload was answered, count that attempt as failed.

        Ignore an attempt that began less than ``older`` seconds ago.
        """
        begun = self._recall().begun
        if self._under_way or not begun or 0 <= self._clock() - begun < older:
            return
        with suppress(OSError, StateError), self._state.sending() as ours, self._turn:
            memory = self._recall()
            if ours and memory.begun:  # otherwise another program is still uploading
                self._conclude(memory)
                self._remember(memory)

    def _conclude(self, memory: _Memory) -> None:
        """Count a begun attempt as failed; blame the collector if another exit waited in vain for it."""
        memory.at, memory.endpoint, memory.begun = memory.begun, memory.begun_to, 0.0
        memory.accepted, memory.result = False, UNANSWERED
        memory.failures += 1
        if memory.exit_at >= memory.at and memory.failures > 1:
            memory.failed_at = memory.exit_at
        self._log_daily(memory, UNANSWERED, self._message(memory))

    def note(self, result: str, kind: str, held: Mapping[str, Postponed], *, accepted: bool) -> None:
        """Remember an attempt; log the first failure of its ``kind`` in a day."""
        with self._turn:
            memory, now = self._recall(), self._clock()
            memory.at, memory.endpoint, memory.begun = now, self.endpoint, 0.0
            memory.accepted, memory.result = accepted, result[:_LONGEST_TEXT]
            memory.failures = 0 if accepted else memory.failures + 1
            memory.held = dict(sorted(held.items(), key=lambda item: -item[1].moment)[:_MOST_HELD])
            if not accepted:
                memory.failed_at = now
                self._log_daily(memory, kind, self._message(memory))
            self._remember(memory)

    def may_wait(self, every: float) -> bool:
        """Return whether an exit may wait now, and remember that it does, until ``waited_in_time``.

        None waits within ``every`` seconds of one that waited in vain, nor within an hour of a failure, nor if it
        cannot be remembered: the next programs would wait, too.
        """
        with self._turn:
            memory, now = self._recall(), self._clock()
            if 0 <= now - memory.exit_at < every or 0 <= now - memory.failed_at < _PEACE:
                return False
            memory.exit_at = now
            self._remember(memory)
            return self._unwritten is None

    def waited_in_time(self) -> None:
        """Clear the note of ``may_wait``, because the upload ended in time, so that the next exit may wait, too."""
        with self._turn:
            memory = self._recall()
            memory.exit_at = 0.0
            self._remember(memory)

    def _log_daily(self, memory: _Memory, kind: str, message: str) -> bool:
        """Log a message of its kind once a day; return whether it was logged now."""
        today = int(self._clock() // _DAY)
        memory.logged = {kind: day for kind, day in memory.logged.items() if day == today}
        if kind in memory.logged or len(memory.logged) >= _MOST_KINDS or not self._diagnostics.warn(message):
            return False
        memory.logged[kind] = today
        return True

    def _message(self, memory: _Memory) -> str:
        return f"an upload to {memory.endpoint or 'the collector'} failed: {memory.result}"

    def _recall(self) -> _Memory:
        if self._unwritten is not None:
            return self._unwritten
        with suppress(Exception):  # a damaged file counts as none
            notes = self._state.recall("delivery")
            if not notes:
                return _Memory()
            with importing():
                import json  # noqa: PLC0415 - with re, 4 ms that only a run which sends something pays

            return _read(json.loads(notes))
        return _Memory()

    def _remember(self, memory: _Memory) -> None:
        self._unwritten = memory  # while it cannot be written, this process keeps it in memory
        with importing():
            import json  # noqa: PLC0415 - likewise

        try:
            self._state.remember("delivery", json.dumps(vars(memory)).encode("ascii"))
            self._unwritten = None
        except (OSError, StateError) as error:
            self._diagnostics.failed("remembering the uploads", error)


def _host_of(endpoint: str) -> str:
    with suppress(ParameterError):  # a transport of the app's own may take something that is not a URL
        return Endpoint.parse(endpoint).host
    return "the collector"


def _read(data: dict[str, Any]) -> _Memory:
    """Parse the content of the file ``delivery``; raise ValueError, TypeError or AttributeError if it is damaged."""
    memory = _Memory(**data)
    memory.endpoint, memory.begun_to = without_secrets(memory.endpoint), without_secrets(memory.begun_to)
    memory.logged = {str(kind): int(day) for kind, day in memory.logged.items()}
    memory.held = {
        str(batch): Postponed(float(moment), float(not_before), int(failures))
        for batch, (moment, not_before, failures) in memory.held.items()
    }
    if not (0 <= memory.at <= _LATEST and 0 <= memory.begun <= _LATEST):
        raise ValueError("a time that no calendar has")
    return memory


def _moment(seconds: float) -> datetime:
    """Return a Unix time in this computer's time zone; raise ValueError or OverflowError if there is no such time."""
    with importing():
        from datetime import UTC, datetime  # noqa: PLC0415 - for people alone

    return datetime.fromtimestamp(seconds, UTC).astimezone()
