"""The committer of a collector: beside uploads it writes counts of refusals, and deletes old batch ids."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Protocol

from dither_serving import committer
from dither_serving.committer import Limits
from dither_serving.errors import StoreError

from ..prometheus import Prometheus
from ..store import Outcome, Refusal, Upload
from .refusal_counts import Refusals, Refused

Then = Callable[[Outcome | StoreError], object]
"""A callback that is called once with the outcome of an upload."""

_log = logging.getLogger(__name__)


class _Store(Protocol):
    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[Outcome]: ...

    def forget(self, before: date) -> bool: ...
    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None: ...


class Committer(committer.Committer[Upload, Outcome]):
    """Batch ids are forgotten ``horizon`` days after the day they were received: some after each commit.

    So no commit waits long for that.
    """

    def __init__(
        self,
        store: _Store,
        today: Callable[[], date],
        limits: Limits,
        horizon: timedelta,
        prometheus: Prometheus | None = None,
    ) -> None:
        super().__init__(store, today, limits, prometheus)
        self._ids = store
        self._horizon = horizon
        self._forgotten: date | None = None
        self._refusals = Refusals(today)

    def refused(self, refused: Refused) -> None:
        """Count a batch that is not to be committed; that is written some seconds later, with others of its kind."""
        if self._refusals.add(refused):
            self.wake_for_chore()

    def after_commit(self) -> None:
        """Delete the ids beyond the horizon."""
        self._forget()

    def seconds_to_chore(self) -> float | None:
        """Return when refusals are to be written."""
        return self._refusals.pause()

    def chore(self, shard: bytes) -> None:
        """Write the counts of refusals."""
        self._refusals.write(self._ids, shard)

    def _forget(self) -> None:
        """Once a day delete the ids beyond the horizon: some after each commit, more while nothing waits."""
        today = self._today()
        if self._forgotten == today:
            return
        try:
            while self._ids.forget(today - self._horizon):
                if not self.is_idle:
                    return
            self._forgotten = today
        except StoreError as error:
            _log.warning("old batch ids were not dropped: %s", error)
        except Exception:
            _log.exception("old batch ids could not be dropped")
            self._forgotten = today  # a fault of ours does not pass by trying again
