"""What answers say about sealed reports, their number and their ε after shuffling, and about the last fold."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from dither_shared import Metric
from dither_shared.counted import counted

from ..analysis.composition import rounded_up
from ..analysis.shuffling.amplified import CONDITIONS, amplified
from ..store import Sealed

_CONDITIONS = (
    f"This does not replace ε, and is true only if {'; '.join(CONDITIONS)} "
    "(dither-sim shuffle --forged 10% subtracts forged ones)."
)

_MOST_DELTA = 1e-6
"""Maximum δ, the probability with which the bound on ε may fail; it is smaller for many reports."""

_MOST = 10**9
"""Maximum reports that count as shuffled together, because computing more takes long."""


def about_sealed(sealed: Sealed | None, metric: Metric | None = None, periods: int = 1) -> dict[str, Any]:
    """Return the field ``sealed`` of an answer, if any of its reports came sealed.

    With a ``metric`` it includes the epsilon after shuffling for a device with one report in each of ``periods``
    periods, so in as many batches, which takes a second or two to compute the first time.
    """
    if sealed is None:
        return {}
    worth = {} if metric is None else {"shuffled": _worth(metric, sealed, periods)}
    return {"sealed": sealed._asdict() | worth}


def words_of_sealed(sealed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences of a page about the field ``sealed`` of an answer."""
    refused = f"; {sealed['refused']:,} more were not counted" if sealed["refused"] else ""
    batches = counted(sealed["batches"], "batch", "batches")
    yield (
        f"{sealed['reports']:,} of these reports came sealed, through a relay, in {batches}{refused}. According to "
        f"the relay, each was shuffled among at least {sealed['least_total']:,}."
    )
    worth = sealed["shuffled"]
    if "none" in worth:
        yield f"Shuffling adds nothing here: {worth['none']}."
        return
    each = (
        f"n = {worth['reports']:,} and δ = {worth['delta']:g} the ε of one report is {rounded_up(worth['epsilon'], 3)}"
    )
    if worth["periods"] > 1:
        together = f"ε = {rounded_up(worth['together'], 3)} and δ = {rounded_up(worth['together_delta'], 3)}"
        each += f", and that of {worth['periods']:,} of one device, one in each period, {together}"
    yield f"To someone who sees all reports of a batch and nothing else, for {each}."
    yield _CONDITIONS


def _worth(metric: Metric, sealed: Sealed, periods: int) -> dict[str, Any]:
    """Return the ε of shuffled reports: of one, and of one per period, each in a batch of its own.

    No batch has reports of two periods, because rows are sealed for one. n is what the relay claims less what was not
    counted, and at most the number of reports that came, because a relay may claim any number. It is rounded down, so
    that few values are ever computed and none promises too much.
    """
    least = min(max(1, min(sealed.least_total - sealed.refused, sealed.reports)), _MOST)
    among = least - least % 10 ** max(0, len(str(least)) - 2)
    delta = min(_MOST_DELTA, 10.0 ** -(len(str(among)) + 1))
    found = amplified(metric.mechanism, among, delta)
    if found.reason is not None:
        return {"none": found.reason}
    epsilon, lost = found.after(periods)
    worth = {"reports": among, "delta": delta, "epsilon": found.best, "any_law": found.generic}
    bound = {} if found.blanket is None else {"this_law": found.blanket}
    return worth | bound | {"periods": periods, "together": epsilon, "together_delta": lost}


def folded(up_to: datetime | None) -> dict[str, str]:
    """Return the member ``folded_up_to`` of an answer, such as 2026-11-20T14:05:59Z; nothing if no fold has finished.

    Read it before the counts: then it never promises more than they contain.
    """
    return {} if up_to is None else {"folded_up_to": up_to.isoformat().replace("+00:00", "Z")}
