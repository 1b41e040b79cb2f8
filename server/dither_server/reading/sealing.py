"""What is told of reports that came sealed, through a relay: in numbers, and in words what that is worth, and when."""

from collections.abc import Iterator
from typing import Any

from dither_shared import Metric

from ..store import Sealed

__all__ = ["about_sealed", "words_of_sealed"]

_CONDITIONS = (
    "What shuffling adds to privacy stands beside ε, never in its place. It holds only if the relay and this collector "
    "do not work together, and if the collector sees of the reports that are shuffled together one set, without ids or "
    "times. Honest reports alone count, so subtract those that may be forged. What one device sends in several batches "
    "adds up."
)
_NONE = (
    "Shuffling adds nothing here: a device repeats its permanent draw, in a cohort of its own, so its reports can be "
    "told from others."
)


def about_sealed(sealed: Sealed | None) -> dict[str, Any]:
    """Return what an answer tells of what came sealed: nothing where nothing did."""
    return {} if sealed is None else {"sealed": sealed._asdict()}


def words_of_sealed(metric: Metric, sealed: Sealed | None) -> Iterator[str]:
    """Yield what a page says of it: how many reports, among how many at least, and what that is worth on conditions."""
    if sealed is None:
        return
    batches = "1 batch" if sealed.batches == 1 else f"{sealed.batches:,} batches"
    refused = f"; {sealed.refused:,} more did not open" if sealed.refused else ""
    yield (
        f"{sealed.reports:,} of these reports came sealed, through a relay, in {batches}{refused}. By what the relay "
        f"says, each was shuffled among at least {sealed.least_total:,}."
    )
    yield _CONDITIONS if metric.mechanism.permanent_epsilon is None else _NONE
