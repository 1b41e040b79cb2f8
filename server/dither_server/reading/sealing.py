"""What is told of reports that came sealed, through a relay: how many, and what it is worth that they were shuffled."""

from collections.abc import Iterator, Mapping
from typing import Any

from dither_shared import Metric
from dither_shared.counted import counted

from ..analysis.composition import rounded_up
from ..analysis.shuffling.amplified import CONDITIONS, amplified
from ..store import Sealed

_CONDITIONS = (
    f"That stands beside ε, never in its place, and is true only if {'; '.join(CONDITIONS)} "
    "(dither-sim shuffle --forged 10% subtracts forged ones)."
)

_LATE = (
    "A device may have one report here for each period, and more if some came late: it was offline, or its relay "
    "waited for others; dither-sim shuffle --own 4 says what four of a batch tell."
)

_MOST_DELTA = 1e-6
"""The greatest δ that is granted: what holds for ε may fail with this probability. Less for many reports."""

_MOST = 10**9
"""Reports that are counted as shuffled together: more take long to compute."""


def about_sealed(sealed: Sealed | None, metric: Metric | None = None, periods: int = 1) -> dict[str, Any]:
    """Return what an answer tells of what came sealed: nothing where nothing did.

    With a ``metric``, also what that is worth to a device with a report for each of so many ``periods``: that takes a
    second or two the first time.
    """
    if sealed is None:
        return {}
    worth = {} if metric is None else {"shuffled": _worth(metric, sealed, periods)}
    return {"sealed": sealed._asdict() | worth}


def words_of_sealed(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a page says of the member ``sealed`` of an answer: how many reports, what it is worth, and when."""
    refused = f"; {told['refused']:,} more were not counted" if told["refused"] else ""
    batches = counted(told["batches"], "batch", "batches")
    yield (
        f"{told['reports']:,} of these reports came sealed, through a relay, in {batches}{refused}. By what the relay "
        f"says, each was shuffled among at least {told['least_total']:,}."
    )
    worth = told["shuffled"]
    if "none" in worth:
        yield f"Shuffling adds nothing here: {worth['none']}."
        return
    each = (
        f"n = {worth['reports']:,} and δ = {worth['delta']:g} the ε of one report is {rounded_up(worth['epsilon'], 3)}"
    )
    if worth["periods"] > 1:
        together = f"ε = {rounded_up(worth['together'], 3)} and δ = {rounded_up(worth['together_delta'], 3)}"
        each += f", and that of {worth['periods']:,} of one device, however they fell into batches, {together}"
    yield f"To whoever sees all reports of a batch and nothing else, for {each}."
    if worth["late"]:
        yield _LATE
    yield _CONDITIONS


def _worth(metric: Metric, sealed: Sealed, periods: int) -> dict[str, Any]:
    """Return the ε of shuffled reports: of one, and of one for each period, in whatever batches.

    Nobody can see here in which batches those of a device lie: even without any delay the hour of a relay divides days,
    so that a batch has those of two.
    n is what the relay says less what was not counted, and at most the reports that came: a relay may say any number.
    It is rounded down, so that few are ever computed and none promises too much.
    """
    least = min(max(1, min(sealed.least_total - sealed.refused, sealed.reports)), _MOST)
    among = least - least % 10 ** max(0, len(str(least)) - 2)
    delta = min(_MOST_DELTA, 10.0 ** -(len(str(among)) + 1))
    found = amplified(metric.mechanism, among, delta)
    if found.reason is not None:
        return {"none": found.reason}
    all_own = amplified(metric.mechanism, among, delta, own=periods)
    worth = {"reports": among, "delta": delta, "epsilon": found.best, "any_law": found.generic}
    bound = {} if found.blanket is None else {"this_law": found.blanket}
    together = {"together": all_own.best, "together_delta": all_own.lost}
    return worth | bound | {"periods": periods} | together | {"late": metric.period != "once"}
