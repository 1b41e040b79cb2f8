"""What one person is asked: parts given by hand, or the metrics of a definition over some days."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dither.reporting.account import Price
from dither_server.analysis.composition import Part
from dither_shared import ParameterError
from dither_shared.metrics.definition import load_metrics
from dither_shared.metrics.metric import Metric

__all__ = ["Asked", "asked_by_hand", "exact", "of_group", "of_metrics"]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_PART = re.compile(rf"(?P<epsilon>{_NUMBER})(?::(?P<delta>{_NUMBER}))?(?:[x×*](?P<reports>\d{{1,9}}))?")


@dataclass(frozen=True)
class Asked:
    """A part and what it is called; of ``lasting`` ones a report counts only if its value is new."""

    name: str
    part: Part
    lasting: bool = False


def exact(text: str) -> Fraction:
    """Return a decimal number as it stands: 0.1 is a tenth, not the float that is nearest. Raises ParameterError."""
    if re.fullmatch(_NUMBER, text.strip()) is None:
        raise ParameterError(repr(text), "not a number of at least 0 such as 0.5 or 1e-6")
    return Fraction(text)


def asked_by_hand(text: str) -> Asked:
    """Read a part such as 0.5x365 or 0.1:1e-9x30: ε, a δ if it has one, and the number of reports, or 1.

    Raises ParameterError.
    """
    found = _PART.fullmatch(text.strip())
    if found is None:
        raise ParameterError(repr(text), "not εxREPORTS such as 0.5x365, nor ε:δxREPORTS such as 0.1:1e-9x30")
    delta, reports = Fraction(found["delta"] or 0), int(found["reports"] or 1)
    try:
        return Asked(text.strip(), Part(Fraction(found["epsilon"]), reports, delta))
    except ParameterError as error:
        raise error.within(f"{text!r}: ") from None


def of_metrics(path: Path, days: int, values: int | None = None) -> list[Asked]:
    """Return what the metrics of a definition may cost one device in ``days`` days, at most.

    A metric is charged as the device's ledger does it: ε for each report, or ``permanent_epsilon`` for each value that
    is new. Days and weeks are counted as a calendar may have them: two days may lie in two weeks. ``values`` is the
    number of different values that a device has; without it, as many as there are and its cap pays for.
    Raises ParameterError, as reading a definition does.
    """
    return [_of_metric(metric, days, values) for metric in load_metrics(path).values()]


def of_group(asked: Sequence[Asked], people: int) -> list[Asked]:
    """Return what each part is for people whose answers all depend on one secret; raise ParameterError as Part does."""
    return [replace(one, part=one.part.of_group(people)) for one in asked]


def _of_metric(metric: Metric, days: int, values: int | None) -> Asked:
    part = Part(Fraction(metric.charge), _charges(metric, days, values), metric.mechanism.delta)
    return Asked(metric.name, part, metric.mechanism.memoised)


def _charges(metric: Metric, days: int, values: int | None) -> int:
    """Return how often a device is charged for a metric at the most."""
    reports = {"day": days, "week": (days + 12) // 7, "once": 1}[metric.period]
    price = Price.of(metric)
    bounds = [reports, price.most]
    if price.lasting:
        bounds += [bound for bound in (values, metric.mechanism.size) if bound is not None]
    return int(min(bounds))
