"""The reports of one person in parts, and bounds on the privacy loss of each part, of all parts, or of one of them."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from matplotlib.figure import Figure

from dither.reporting.ledger import Price
from dither_server.analysis.composition import Part, advanced, optimal, rounded_up
from dither_shared import ParameterError
from dither_shared.metrics.definition import load_metrics
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.probability import float_above
from dither_shared.privacy.composition import parallel, sequential
from dither_shared.privacy.wording import MEMOISATION

from ..plots import PlotPanel, exact_line, lines_plot
from ..sweeps import Row
from ..tables import render

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_PART = re.compile(rf"(?P<epsilon>{_NUMBER})(?::(?P<delta>{_NUMBER}))?(?:[x×*](?P<reports>\d{{1,9}}))?")


@dataclass(frozen=True)
class NamedPart:
    """A part and its name. In a ``lasting`` part a report costs only if its value is new (permanent draws)."""

    name: str
    part: Part
    lasting: bool = False


def exact(text: str) -> Fraction:
    """Return a decimal number exactly: 0.1 is a tenth, not the nearest float. Raises ParameterError."""
    if re.fullmatch(_NUMBER, text.strip()) is None:
        raise ParameterError(repr(text), "not a number of at least 0 such as 0.5 or 1e-6")
    return Fraction(text)


def read_part(text: str) -> NamedPart:
    """Read a part such as 0.5x365 or 0.1:1e-9x30: ε, optionally a δ, and the number of reports (default 1).

    Raises ParameterError.
    """
    match = _PART.fullmatch(text.strip())
    if match is None:
        raise ParameterError(repr(text), "not εxREPORTS such as 0.5x365, nor ε:δxREPORTS such as 0.1:1e-9x30")
    delta, reports = Fraction(match["delta"] or 0), int(match["reports"] or 1)
    try:
        return NamedPart(text.strip(), Part(Fraction(match["epsilon"]), reports, delta))
    except ParameterError as error:
        raise error.within(f"{text!r}: ") from None


def of_metrics(path: Path, days: int, values: int | None = None) -> list[NamedPart]:
    """Return the maximum cost of the metrics of a definition for one device in ``days`` days.

    A metric is charged as the device's ledger does it: ε for each report, or ``permanent_epsilon`` for each value that
    is new. Days and weeks are counted as a calendar may have them: two days may lie in two weeks. ``values`` is the
    number of different values that a device has; without it, as many as there are and its cap pays for.
    Raises ParameterError, as reading a definition does.
    """
    return [_of_metric(metric, days, values) for metric in load_metrics(path).values()]


def of_group(named_parts: Sequence[NamedPart], people: int) -> list[NamedPart]:
    """Return the parts for a group of people whose answers depend on one secret. Raises ParameterError as Part does."""
    return [replace(named, part=named.part.of_group(people)) for named in named_parts]


def _of_metric(metric: Metric, days: int, values: int | None) -> NamedPart:
    part = Part(Fraction(metric.charge), _charges(metric, days, values), metric.mechanism.delta)
    return NamedPart(metric.name, part, metric.mechanism.memoised)


def _charges(metric: Metric, days: int, values: int | None) -> int:
    """Return the maximum number of charges of a device for a metric."""
    reports = {"day": days, "week": (days + 12) // 7, "month": (days + 54) // 28, "once": 1}[metric.period]
    price = Price.of(metric)
    bounds = [reports, price.most]
    if metric.of == "weeks-since-first-use":  # each listed week comes once
        bounds.append(len(metric.labels))
    if price.lasting:
        bounds += [bound for bound in (values, metric.mechanism.size) if bound is not None]
    return int(min(bounds))


TOGETHER, ONE_OF_THEM = "together", "one of them"
"""Names of the last row."""
_POINTS = 10


def composition_rows(named_parts: Sequence[NamedPart], granted: Fraction, *, one_of_them: bool) -> list[Row]:
    """Return upper bounds on the privacy loss of one person, for each part and, if there are several, for all of them.

    - ``epsilon``: the loss of one report, or None if they differ;
    - ``sum``, ``sum_delta``: the sum of all losses, which holds with the sum of the reports' own δ;
    - ``advanced``: ε by Dwork and Roth's advanced composition; None if no δ is granted, or if it exceeds all floats;
    - ``optimal``: the least valid ε, never above ``sum``;
    - ``delta``: the δ with which these two hold: ``granted``, the allowed δ, and ``sum_delta``.

    With ``one_of_them`` each person answers only one part. Raises ParameterError for an invalid δ, or if the total δ is
    1 or more.
    """
    rows = [
        _bounds(named.name, [named.part], granted) | {"epsilon": float_above(named.part.epsilon)}
        for named in named_parts
    ]
    if len(rows) == 1:
        return rows
    return [*rows, _dearest(rows) if one_of_them else _bounds(TOGETHER, [named.part for named in named_parts], granted)]


def growing_rows(named_parts: Sequence[NamedPart], granted: Fraction, *, one_of_them: bool) -> Iterator[Row]:
    """Yield the row of all parts for growing shares of the reports of each part, up to all reports."""
    most = max(named.part.reports for named in named_parts)
    known: set[int] = set()
    for place in range(_POINTS):
        share = most ** (place / (_POINTS - 1) - 1)
        parts = [replace(named.part, reports=max(1, round(share * named.part.reports))) for named in named_parts]
        row = composition_rows([NamedPart("", part) for part in parts], granted, one_of_them=one_of_them)[-1]
        if row["reports"] not in known:
            known.add(row["reports"])
            yield row


def _bounds(name: str, parts: Sequence[Part], granted: Fraction) -> Row:
    deltas = [part.total_delta for part in parts]
    delta = sequential([granted, *deltas])
    if delta >= 1:
        raise ParameterError("delta", f"together they have {delta:.3g}; a δ of 1 or more promises nothing")
    theorem = advanced(parts, granted) if granted else math.inf
    return {
        "part": name,
        "epsilon": None,
        "reports": sum(part.reports for part in parts),
        "sum": sequential([part.total for part in parts]),
        "sum_delta": sequential(deltas),
        "advanced": theorem if theorem < math.inf else None,
        "optimal": optimal(parts, granted),
        "delta": delta,
    }


def _dearest(rows: Sequence[Row]) -> Row:
    """Return the bounds for a person who answered one of the parts, whichever it was."""
    theorems = [row["advanced"] for row in rows if row["advanced"] is not None]
    return {
        "part": ONE_OF_THEM,
        "epsilon": None,
        "reports": max(row["reports"] for row in rows),
        "sum": parallel(row["sum"] for row in rows),
        "sum_delta": parallel(row["sum_delta"] for row in rows),
        "advanced": parallel(theorems) if len(theorems) == len(rows) else None,
        "optimal": parallel(row["optimal"] for row in rows),
        "delta": parallel(row["delta"] for row in rows),
    }


_DIGITS = 6
_LEAST_GAIN = 0.01
"""The share of the sum that a δ must save to be worth it."""
_SURE = 1e-6
"""The relative error that rounding may add to an optimal ε: more than it ever does if all reports are alike."""


def composition_table(rows: Sequence[Row], named_parts: Sequence[NamedPart], people: int) -> str:
    """Return a table of the bounds, and sentences on the last one."""
    granted = _granted(rows[-1])
    header = ("part", "ε of one", "reports", "sum", *(("advanced", "optimal", "δ") if granted else ("δ",)))
    cells = [(row["part"], _shown(row["epsilon"]), f"{row['reports']:,}", *_losses(row, granted)) for row in rows]
    lines = (*_verdict(rows[-1], people), *_shorthand(rows[-1]), *_lasting(named_parts))
    return "\n".join((render(header, cells), "", *lines))


def composition_plot(rows: Sequence[Row]) -> Figure:
    """Return a figure of the bounds against the number of reports, on logarithmic axes.

    Raises ParameterError if nothing is lost, because zero cannot be shown on such an axis.
    """
    last = rows[-1]
    at = [row["reports"] for row in rows]
    lines = [exact_line("sum", at, [row["sum"] for row in rows])]
    title = "Total privacy loss of one person's reports"
    if _granted(last):
        lines.append(exact_line("advanced", at, [row["advanced"] for row in rows]))
        lines.append(exact_line("optimal", at, [row["optimal"] for row in rows]))
        title += f"\nadvanced and optimal: with δ = {rounded_up(last['delta'], 3)}"
    lines = [line for line in lines if line.at]
    if not lines:
        raise ParameterError("--plot", "no ε is above 0")
    return lines_plot([PlotPanel(lines, "ε of all together")], title, "reports of one person")


def _up(number: float) -> str:
    return rounded_up(number, _DIGITS)


def _granted(row: Row) -> bool:
    """Return whether a δ is granted in addition to those of the reports."""
    return bool(row["delta"] > row["sum_delta"])


def _losses(row: Row, granted: bool) -> tuple[str, ...]:
    optimal = (_shown(row["advanced"]), _up(row["optimal"])) if granted else ()
    return (_up(row["sum"]), *optimal, rounded_up(row["delta"], 3))


def _shown(number: float | None) -> str:
    return "-" if number is None else _up(number)


def _verdict(row: Row, people: int) -> list[str]:
    """Return sentences on the privacy loss that may be promised."""
    what = "One of these parts" if row["part"] == ONE_OF_THEM else "All of this"
    whom = "one person" if people == 1 else f"{people:,} people with one secret"
    own_delta = f" with δ = {rounded_up(row['sum_delta'], 3)}" if row["sum_delta"] else ""
    lines = [f"{what} reveals at most ε = {_up(row['sum'])}{own_delta} about {whom}, the sum of the losses."]
    if _granted(row):
        lines.append(f"With δ = {rounded_up(row['delta'], 3)} it is ε = {_up(row['optimal'])}, by optimal composition.")
        if row["optimal"] > (1 - _LEAST_GAIN) * row["sum"]:
            lines.append("That is hardly less; use the sum.")
    return lines


def _shorthand(row: Row) -> list[str]:
    """Return a warning if the shorthand formula that is often quoted gives too low a bound, for equal reports."""
    if row["epsilon"] is None or row["sum_delta"] or not row["delta"]:
        return []
    quoted = row["epsilon"] * math.sqrt(8 * row["reports"] * math.log(1 / row["delta"]))
    if quoted >= (1 - _SURE) * row["optimal"]:
        return []
    return [
        f"The shorthand ε · sqrt(8 k ln(1/δ)) gives {quoted:.4g}, which is wrong: it is proven only for totals up to 1."
    ]


def _lasting(named_parts: Sequence[NamedPart]) -> list[str]:
    """Return a note on the number of reports if some parts have permanent draws."""
    names = ", ".join(named.name for named in named_parts if named.lasting)
    return (
        [f"With permanent draws, a report adds loss only if its value is new: {names}.", MEMOISATION] if names else []
    )
