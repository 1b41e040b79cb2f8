"""Apps: read the state of each app of this user, as far as possible without the app's questions.

Reading changes nothing and waits for nothing. No lock is taken, except briefly the sender's, to see whether a process
that took it long ago still holds it. A folder that is not ours, or that cannot be read, is named and left alone.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from dither_shared.metrics.period import utc_today
from dither_shared.primitives.entropy import SystemEntropy

from ..consent.permission import Permission
from ..consent.rules import Mode
from ..diagnostics import Diagnostics, described
from ..reporting.journal import Journal
from ..state.folder import FolderState
from ..state.journal_records import ConsentChoice, Record
from ..state.state import Cursor, News, Notes, StateError
from ..upload.attempts import Attempt, Attempts

_LONGEST_UPLOAD = 60.0
"""Seconds after which an upload is no longer considered under way."""

_OURS = ("consent", "journal", "secret")


@dataclass(frozen=True)
class _ReportedMetric:
    """A metric version that has reported."""

    name: str
    version: str
    reports: int
    spent: float
    last_day: date | None


@dataclass(frozen=True, kw_only=True)
class AppStatus:
    """One app on this device."""

    app: str
    folder: str
    mode: Mode
    decided_by: str
    waiting: int = 0
    sealed: int = 0
    """The number of waiting reports that are sealed: a relay forwards them, and only the collector can read them."""
    shown: int = 0
    sent: int = 0
    dropped: int = 0
    last_day: date | None = None
    """The day of the last known report."""
    last_attempt: Attempt | None = None
    """The last attempt to upload a report."""
    failed_attempts: int = 0
    """The number of failed attempts since the last success."""
    held_up: str = ""
    """The process that has kept all others from sending for minutes, because it is stopped or stuck; "" if none has."""
    metrics: tuple[_ReportedMetric, ...] = ()
    trouble: tuple[str, ...] = ()
    """Descriptions of the files that could not be read."""


@dataclass
class Listing:
    """The content of the folder of all apps."""

    folder: str
    apps: list[AppStatus] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Descriptions of the folders that are not the state of an app."""
    trouble: list[str] = field(default_factory=list)
    """Reasons why the folder itself could not be read."""


def apps_in(folder: Path, environ: Mapping[str, str] | None = None) -> Listing:
    """Return every app that has state in ``folder``, by name."""
    listing = Listing(str(folder))
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, and no paths
    except FileNotFoundError:
        return listing
    except OSError as error:
        listing.trouble.append(f"{str(folder)!r}: {error.strerror}")
        return listing
    for name in names:
        strange = _strange(folder / name)
        if strange:
            listing.foreign.append(f"{str(folder / name)!r} {strange}")
        else:
            listing.apps.append(status_of(name, folder / name, environ))
    return listing


def status_of(app: str, folder: Path, environ: Mapping[str, str] | None = None) -> AppStatus:
    """Return the status of an app by its folder; an empty one if the folder is not there."""
    diagnostics = Diagnostics(folder)
    state = _ReadOnlyState(folder)
    consent = Permission(state, app, utc_today, diagnostics, environ=environ).consent()
    journal = Journal(state, SystemEntropy(), lambda: utc_today().toordinal())
    known, problems = AppStatus(app=app, folder=str(folder), mode=consent.mode, decided_by=consent.decided_by), []
    try:
        journal.refresh()
        known = _with_journal(known, journal)
    except Exception as error:  # whatever a foreign journal contains
        problems.append(described(error, folder))
    if state.damaged:
        problems.append(f"{str(folder / 'journal')!r}: {state.damaged} of its records are damaged")
    attempts = Attempts(state, Diagnostics(), "")  # its corrections are not written
    attempts.conclude(older=_LONGEST_UPLOAD)
    return replace(
        known,
        last_attempt=attempts.last(),
        failed_attempts=attempts.failures(),
        held_up=attempts.held_up(),
        trouble=(*diagnostics.counts, *problems),
    )


def _with_journal(status: AppStatus, journal: Journal) -> AppStatus:
    """Return the status, completed from the app's journal."""
    outbox, accounts = journal.outbox, journal.ledger.accounts()
    waiting, shown = outbox.waiting(), outbox.waiting(local=True)
    days = [one.day for one in accounts]
    days += [one.day for one in (*waiting, *shown, *outbox.history())]
    return replace(
        status,
        waiting=len(waiting),
        sealed=outbox.sealed,
        shown=len(shown),
        sent=outbox.sent,
        dropped=outbox.dropped,
        last_day=_day(max(days, default=0)),
        metrics=tuple(
            _ReportedMetric(one.name, one.version, one.reports, one.spent, _day(one.day)) for one in accounts
        ),
    )


def _strange(path: Path) -> str:
    """Return in words why a folder is not an app's state folder; "" if it may be one."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return "is a symbolic link, which dither does not follow"
        if not stat.S_ISDIR(mode):
            return "is not a folder"
        for name in _OURS:
            try:
                (path / name).lstat()
            except FileNotFoundError:
                continue
            return ""
    except OSError:  # reading it will give the reason
        return ""
    return "contains no files of dither"


def _day(ordinal: int) -> date | None:
    try:
        return date.fromordinal(ordinal)
    except (ValueError, OverflowError):  # no day, or one from a clock that was far off
        return None


class _ReadOnlyState(FolderState):
    """Reads what a client wrote to ``folder``; opens only plain files, and changes nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.damaged = 0
        """How many records of the journal could not be read."""

    def choice(self) -> ConsentChoice | None:
        """Return the user's choice, with the mode "" if it cannot be read; None if there is none."""
        try:
            status = os.lstat(self._paths["consent"])
        except FileNotFoundError:
            return None
        _check("consent", status)
        return super().choice()

    def exists(self) -> bool:
        """Return whether there is or was a journal, of whatever kind."""
        for name in ("journal", "secret"):
            with suppress(FileNotFoundError):
                os.lstat(self._paths[name])
                return True
        return False

    def acquire(self) -> None:
        """Open the journal for reading; another process may go on writing, and at worst its last record is missed."""
        path = self._paths["journal"]
        _check("journal", os.lstat(path))
        self.acquire_to_read()

    def release(self) -> None:
        """Close the journal."""
        self._close_file()

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records beyond ``cursor``."""
        news = super().news(cursor)
        if news is not None:
            self.damaged = news.damaged + (0 if news.rewritten else self.damaged)
        return news

    def recall(self, notes: Notes) -> bytes:
        """Return the last notes, or nothing."""
        with suppress(FileNotFoundError):
            _check(notes, os.lstat(self._paths[notes]))
        return super().recall(notes)

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter although others may be sending, because nothing is sent from here."""
        yield True

    def remember(self, notes: Notes, data: bytes) -> None:
        """Refuse to write."""
        raise StateError("the state is read-only here")

    def append(self, records: Iterable[Record]) -> int:
        """Write nothing, although a clock that was ahead may have left something to correct."""
        return self.size

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Write nothing, although records may be damaged."""
        return Cursor(b"", self.size)


def _check(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise StateError(f"the {name} is not a plain file")
