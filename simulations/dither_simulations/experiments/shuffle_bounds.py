"""Bound the privacy loss of a report in a shuffled batch, and show by an attack how tight the bounds are."""

import decimal
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dither_server.analysis.composition import rounded_up
from dither_server.analysis.shuffling.amplified import CONDITIONS, amplified
from dither_server.analysis.shuffling.blanket import StepLaw, TiltedSum
from dither_server.analysis.shuffling.generic import MARGIN
from dither_shared import Mechanism, ParameterError
from dither_shared.primitives.channel import TwoLevel

from ..plots import PlotPanel, exact_line, lines_plot
from ..sweeps import Row
from ..tables import ResultColumn, results_table, value

_CENTRES = 9
"""Thresholds are tried around 0 to 8 standard deviations from the mean."""

_HEAVIEST = 16
"""The maximum weight w of A: with a larger one the lattice grows and the attack hardly gains."""

_NOTHING = 1e-12
"""Probabilities below this are rounding errors."""

_CLIP = 50.0
"""Beyond this exponent the error of a transform exceeds 1."""


def attack(law: TwoLevel, reports: int, delta: float) -> float:
    """Return a lower bound on the least ε with which a report is (ε, ``delta``)-private.

    It is 0 if the attack learns nothing that ``delta`` does not allow.
    """
    odds, blanket = float(law.ratio), float(law.blanket)
    alone = blanket * float(law.share - law.overlap)
    first = odds * alone, alone
    weights = (min(round(odds), _HEAVIEST), 1) if sum(first) < 1 - _NOTHING else (1, 0)
    bounds = [_loss_seen((alone, odds * alone), first, weights, reports, delta)]
    if law.aside is not None:
        other = alone + blanket * (odds - 1) * float(law.aside)
        bounds.append(_loss_seen((other, other), first, (1, 1), reports, delta))
    return max(bounds)


_Pair = tuple[float, float]


def _loss_seen(others: _Pair, first: _Pair, weights: tuple[int, int], reports: int, delta: float) -> float:
    """Return ln of the greatest (P - δ)/P' over thresholds, rounded down, or 0.

    P and P' are the probabilities that the weighted count reaches the threshold if the attacked device holds the first
    value, and if it holds the second. ``weights`` are those of the events A and B. ``others`` and ``first`` are P[a
    report is in A] and P[it is in B], for each other device and for the attacked device if it holds the first value; if
    it holds the second, the two are exchanged.
    """
    if reports == 1:
        return math.log(max(1.0, (first[0] / MARGIN - delta * MARGIN) / (first[1] * MARGIN)))
    values = np.array([weights[0], -weights[1], 0])
    masses = np.array([*others, max(0.0, 1 - sum(others))])
    steps = StepLaw(values[masses > _NOTHING], masses[masses > _NOTHING] / masses[masses > _NOTHING].sum())
    mean, variance = steps.moments(0.0)
    best = 0.0
    for far in range(_CENTRES):
        centre = mean + far * math.sqrt(variance / (reports - 1))
        if centre >= weights[0]:
            break
        bound = _best_bar(steps.sum_of(reports - 1, steps.tilt_to(centre)), first, weights, delta)
        if bound < best:
            break
        best = bound
    return best


def _best_bar(law: TiltedSum, first: _Pair, weights: tuple[int, int], delta: float) -> float:
    """Return the greatest ln((P - δ)/P') over the thresholds t in the window of a tilted law, rounded down.

    With S the sum of the others and B of weight 1, P - P' = (p - p')·(P[t - w <= S < t] + P[S = t]), without the last
    term if the weight of B is 0, so that no digits cancel. The error of the transform is subtracted from P and added to
    P'.
    """
    scale = np.exp(np.minimum(law.log_scale - law.tilt * law.places, _CLIP))
    least, most = np.maximum(law.masses - law.wrong, 0.0) * scale, (law.masses + law.wrong) * scale
    surely, tail = (np.cumsum(masses[::-1])[::-1] for masses in (least, most))
    bars = np.arange(weights[0], len(scale))
    at_bar = weights[1] * least[bars]
    gap = (first[0] - first[1]) * (surely[bars - weights[0]] - surely[bars] + at_bar)
    second = tail[bars] + first[1] * (tail[bars - weights[0]] - tail[bars]) - first[0] * at_bar
    more = (gap / MARGIN - delta * MARGIN) / (second * MARGIN)
    return math.log1p(max(0.0, float(more.max(initial=0.0))))


_FIRST = 100
_EVERY = 10**0.5
"""Numbers of reports in a plot: the minimum, and the ratio of neighbours."""


@dataclass(frozen=True)
class _Shuffle:
    """Batches of ``reports`` reports at a ``delta`` per batch; one device has ``own`` reports in each.

    The share ``forged`` of the reports hides nobody.
    """

    mechanism: Mechanism
    reports: int
    delta: float
    forged: float = 0.0
    own: int = 1
    batches: int = 1


def shuffles_of(
    mechanisms: Iterable[Mechanism], reports: Sequence[int], delta: float, forged: float, own: int, batches: int
) -> list[_Shuffle]:
    """Return the batches of each mechanism with each number of reports."""
    return [
        _Shuffle(mechanism, count, delta, forged, own, batches)
        for mechanism in dict.fromkeys(mechanisms)
        for count in reports
    ]


def shuffle_row(shuffle: _Shuffle) -> Row:
    """Return what ``own`` reports reveal to an observer of a shuffled batch; all ε but ``attack`` are upper bounds.

    - ``local``: ε₀ of one report, without δ and without shuffling; ``honest``: the reports that are not forged;
    - ``generic``, ``blanket``: ε with ``delta``, for any mechanism with that ε₀ and by the law of this one; None if
      there is no amplification, and ``blanket`` also if the law has more than two levels;
    - ``best``: the least of these and of ``own`` times ε₀; ``attack``: a lower bound of ε, proved by an attack on one
      report, None if a device has several;
    - ``epsilon_after``, ``delta_after``: the privacy loss of ``batches`` such batches of one device;
    - ``reason``: why there is no amplification.

    Raises ParameterError for an impossible number of reports or δ.
    """
    bounds = amplified(shuffle.mechanism, shuffle.reports, shuffle.delta, shuffle.forged, shuffle.own)
    law = shuffle.mechanism.two_level
    epsilon, delta = bounds.after(shuffle.batches)
    return {
        "mechanism": shuffle.mechanism.name,
        "size": shuffle.mechanism.size,
        "local": bounds.local,
        "reports": shuffle.reports,
        "honest": bounds.reports,
        "delta": shuffle.delta,
        "generic": bounds.generic,
        "blanket": bounds.blanket,
        "best": bounds.best,
        "attack": None
        if bounds.reason or law is None or shuffle.own > 1
        else attack(law, bounds.reports, shuffle.delta),
        "own": shuffle.own,
        "batches": shuffle.batches,
        "epsilon_after": epsilon,
        "delta_after": delta,
        "reason": bounds.reason,
    }


def plotted_shuffles(shuffles: list[_Shuffle]) -> Iterator[_Shuffle]:
    """Yield the shuffles of a plot: each mechanism with increasing numbers of reports, up to the largest requested."""
    for mechanism in dict.fromkeys(shuffle.mechanism for shuffle in shuffles):
        alike = [shuffle for shuffle in shuffles if shuffle.mechanism == mechanism]
        most, reports = max(shuffle.reports for shuffle in alike), float(_FIRST)
        while reports < most:
            yield replace(alike[0], reports=round(reports), batches=1)
            reports *= _EVERY
        yield replace(alike[0], reports=most, batches=1)


_DIGITS = 4


def _up(number: float | None) -> str:
    return "-" if number is None else rounded_up(number, _DIGITS)


def _down(number: float | None) -> str:
    if number is None:
        return "-"
    context = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_FLOOR)
    return rounded_up(float(context.create_decimal(Decimal(number))), _DIGITS)


def _several(rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(rows[0]["batches"] > 1)


_COLUMNS = (
    value("mechanism", "mechanism"),
    ResultColumn("ε of one", lambda row: _up(row["local"])),
    value("honest", "honest reports", ","),
    ResultColumn("δ", lambda row: rounded_up(row["delta"], 3)),
    ResultColumn("any law", lambda row: _up(row["generic"])),
    ResultColumn("this law", lambda row: _up(row["blanket"])),
    ResultColumn("attack", lambda row: _down(row["attack"])),
    ResultColumn("after {batches:,} batches", lambda row: _up(row["epsilon_after"]), _several),
    ResultColumn("with δ", lambda row: rounded_up(row["delta_after"], 3), _several),
)


def shuffle_table(rows: Sequence[Row]) -> str:
    """Return a table of the bounds for one and for several batches, and the conditions under which they hold."""
    reasons = dict.fromkeys((row["mechanism"], row["reason"]) for row in rows if row["reason"])
    lines = [f"{name}: no amplification; {reason}." for name, reason in reasons]
    if len(reasons) < len({row["mechanism"] for row in rows}):
        if rows[0]["own"] > 1:
            lines += [f"The bounds are for {rows[0]['own']:,} reports of one device in a batch, all together."]
        lines += [
            "Each ε except that of the attack is an upper bound. It does not replace the ε of one report, and holds",
            "only if",
            *(f"- {condition}{'.' if condition == CONDITIONS[-1] else ';'}" for condition in CONDITIONS),
        ]
    return "\n".join((results_table(_COLUMNS, rows), "", *lines))


def shuffle_plot(rows: Sequence[Row]) -> Figure:
    """Return a plot of the bounds against the number of reports, with a panel per mechanism and logarithmic axes.

    Raises ParameterError if no mechanism has amplification and an ε above 0.
    """
    each = groupby(rows, key=lambda row: (row["mechanism"], row["local"]))
    panels = [panel for _, some in each if (panel := _panel(list(some)))]
    if not panels:
        raise ParameterError("--plot", "there is no amplification to show")
    who = "one report reveals" if rows[0]["own"] == 1 else f"{rows[0]['own']:,} reports of one device reveal"
    title = f"What {who} among others that are shuffled\nwith δ = {rounded_up(rows[0]['delta'], 3)}"
    return lines_plot(panels, title, "reports of one batch")


def _panel(rows: Sequence[Row]) -> PlotPanel | None:
    at = [row["reports"] for row in rows]
    names = {"any law": "generic", "this law": "blanket", "attack": "attack"}
    lines = [exact_line(name, at, [row[column] for row in rows]) for name, column in names.items()]
    lines = [line for line in lines if line.at]
    limit = ("not shuffled", at, [row["own"] * row["local"] for row in rows])
    return PlotPanel(lines, f"ε, {rows[0]['mechanism']}", limit=limit) if lines else None
