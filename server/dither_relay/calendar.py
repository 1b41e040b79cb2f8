"""When a pool takes reports, and when it may leave, by the period in its name and the relay's clock.

A device has at most one report in each period, and a batch has reports of one period, so a batch never has two reports
of a device. This holds whatever the clock shows; the clock only affects how many reports a batch can have.
"""

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from dither_serving.problems import Kind, Problem
from dither_shared.counted import counted
from dither_shared.sealed import Pool


class Calendar(NamedTuple):
    """A pool may leave ``grace`` days after its period, and takes reports for ``max_age`` days more.

    A pool of the period "once" always does both.
    """

    today: Callable[[], date]
    grace: int
    max_age: int

    def is_due(self, pool: Pool) -> bool:
        """Return whether a pool may leave."""
        return pool.days is None or self.today().toordinal() >= pool.days.stop + self.grace

    def is_over(self, pool: Pool) -> bool:
        """Return whether a pool takes no more reports, because its period is long past."""
        return pool.days is None or self.today().toordinal() > pool.days.stop + self.grace + self.max_age

    def require_open(self, pool: Pool) -> None:
        """Raise Problem unless a pool takes reports now; a device keeps a report whose period has not begun."""
        if pool.days is None:
            return
        if self.today().toordinal() < pool.days.start:
            raise Problem(Kind.UNKNOWN_POOL, "pool: its period has not begun; is the device's clock right?")
        if self.is_over(pool):
            late = counted(self.grace + self.max_age, "day")
            raise Problem(Kind.POOL_CLOSED, f"pool: its period ended more than {late} ago")
