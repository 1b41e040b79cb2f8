"""Estimate retention: the share of devices that are in use again some weeks after their first use.

A metric with ``of = "weeks-since-first-use"`` asks in each listed week w how many calendar weeks ago a device was used
for the first time. Its reports of calendar week t count the devices of age w: N_w(t) = n_t f_w(t). The devices of age
w in the weeks T were of age w0, the first listed one, in the weeks T - (w - w0). So

    R_w = sum of N_w(t) over t in T, divided by the sum of N_w0(t - (w - w0)) over t in T,

both sums unbiased. The numerator's weeks and the denominator's may overlap, and a report of such a week is part of
both sums. Each report of a device is in another week and about another value, so it has new randomness, and the noise
of all reports is independent, even if the same devices report in many weeks. From noise alone, with V0, Vf of
``Mechanism.variance`` and c0, c1 of ``joint_constants``,

    Var N_w(T) = n_T V0 + N_w(T) Vf,   Cov(N_w, N_w0) = n_O c0 + (N_w(O) + N_w0(O)) c1   over the weeks O of both.

For a population of which the devices are a random sample, N_w is binomial given the denominator y, which adds
y R (1 - R) to the variance of N_w - R y. Both intervals are Fieller's sets (``intervals.score.fieller``). There is
none from noise alone where the number of supporting reports is not ``nearly_normal``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dither_shared import Metric, ParameterError
from dither_shared.mechanisms.sums import joint_constants

from ..estimation.decoders.support import decoder_of
from ..estimation.estimate import debiased
from ..estimation.intervals.score import nearly_normal
from ..tally.arrays import Floats
from ..tally.tally import Tally
from .columns import Column, Table, from_rows, number

OF = "weeks-since-first-use"

RETAINED = [
    Column("week", int, "Calendar weeks after the week of the first use.", range=(0, None)),
    number(
        "retention", "Share of the devices of the first listed week that reported this many weeks later; unclipped."
    ),
    number("noise_error", "Standard error from the noise alone."),
    number("noise_low", "Interval of the share among the devices that reported, from the noise alone."),
    number("noise_high"),
    number("standard_error", "Standard error from the noise and from who happened to report."),
    number("low", "Interval of the share among all devices like these."),
    number("high"),
    number("devices", "Estimated number of devices that reported this week."),
    number("devices_error", "Its standard error from the noise alone."),
    number("began", "Estimated number of the same devices in the first listed week: the denominator."),
    Column("weeks", int, "Number of calendar weeks that are added up.", range=(0, None)),
]
"""The columns of a metric's retention: one row per listed week, in ascending order."""

_DAYS = 7


class Week(NamedTuple):
    """The Monday and the tally of one calendar week."""

    monday: date
    tally: Tally


@dataclass(frozen=True)
class _Ages:
    """Estimated numbers ``devices[t, place]`` of each age, from ``reports[t]`` reports t weeks after ``first``."""

    first: int
    reports: Floats
    devices: Floats
    laws: tuple[float, float, float, float]

    def sums(self, place: int, weeks: slice) -> tuple[float, float]:
        """Return the number of devices of an age in some weeks, and its variance from noise alone."""
        devices = float(self.devices[weeks, place].sum())
        constant, slope = self.laws[:2]
        return devices, max(0.0, constant * float(self.reports[weeks].sum()) + slope * devices)

    def together(self, one: int, other: int, weeks: slice) -> float:
        """Return the covariance of the numbers of two ages in the same weeks, from noise alone."""
        devices = float(self.devices[weeks, one].sum() + self.devices[weeks, other].sum())
        return self.laws[2] * float(self.reports[weeks].sum()) + self.laws[3] * devices


def has_retention(metric: Metric) -> bool:
    """Return whether the retention of a metric can be estimated."""
    mechanism = metric.mechanism
    if metric.of != OF or decoder_of(mechanism).fits or mechanism.coverage != 1:
        return False
    return joint_constants(mechanism) is not None


def require_ages(metric: Metric) -> dict[int, int]:
    """Return the listed weeks in ascending order, each with the place of its value.

    Raises ParameterError if the metric has no retention, or a mechanism whose noise is not known in the way needed.
    """
    if metric.of != OF:
        raise ParameterError(metric.name, f'has no retention; only a metric with of = "{OF}" does')
    if not has_retention(metric):
        raise ParameterError(metric.name, f'has no retention with {metric.mechanism.name}; set mechanism = "auto"')
    places = {int(label): place for place, label in enumerate(metric.labels) if label.isdecimal()}
    return dict(sorted(places.items()))


def retained(metric: Metric, weeks: Sequence[Week], since: date | None, confidence: float) -> Table:
    """Return the retention for each listed week, of devices that reported it in a week from ``since`` on.

    ``weeks`` are complete calendar weeks with reports; those before ``since`` are denominators. A row has null if the
    denominator's interval contains 0, or if no week has an earlier one to be compared with. The columns are
    ``RETAINED``. Raises ParameterError as ``require_ages`` does.
    """
    place = require_ages(metric)
    ages = _ages(metric, weeks)
    start = min(place)
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    earliest = 0 if since is None else max(0, -(-(since.toordinal() - ages.first) // _DAYS))
    rows = []
    for week, at in place.items():
        ahead = week - start
        later, number_of = slice(max(ahead, earliest), None), len(ages.reports) - max(ahead, earliest)
        before = slice(later.start - ahead, max(len(ages.reports) - ahead, 0))
        both = slice(later.start, max(before.stop, later.start))
        top, top_variance = ages.sums(at, later)
        bottom, bottom_variance = ages.sums(place[start], before)
        covariance = 0.0 if week == start else ages.together(at, place[start], both)
        ratio = _ratio(top, bottom, top_variance, bottom_variance, covariance, z)
        reports = min(int(ages.reports[each].sum()) for each in (later, before))
        if not nearly_normal(metric.mechanism, reports, 1.0):
            ratio = {name: end for name, end in ratio.items() if name not in {"noise_low", "noise_high"}}
        if week == start:  # numerator and denominator are the same number
            ratio = {name: 0.0 if name.endswith("error") else 1.0 for name in ratio}
        count = {"week": week, "weeks": max(number_of, 0)}
        sums = {"devices": top, "devices_error": top_variance**0.5, "began": bottom} if number_of > 0 else {}
        rows.append({**count, **ratio, **sums})
    return from_rows(_about(metric, weeks, since, confidence), rows, RETAINED, rows_as="weeks")


def _about(metric: Metric, weeks: Sequence[Week], since: date | None, confidence: float) -> Mapping[str, Any]:
    chosen = [week for week in weeks if since is None or week.monday >= since]
    return {
        "metric": metric.name,
        "version": metric.version,
        "reports": sum(week.tally.total for week in chosen),
        "since": str(chosen[0].monday) if chosen else None,
        "until": str(date.fromordinal(chosen[-1].monday.toordinal() + _DAYS - 1)) if chosen else None,
        "confidence": confidence,
    }


def _ages(metric: Metric, weeks: Sequence[Week]) -> _Ages:
    """Return the devices of each age and week; a week without reports has none."""
    mechanism = metric.mechanism
    first = weeks[0].monday.toordinal() if weeks else 1
    length = 1 + (weeks[-1].monday.toordinal() - first) // _DAYS if weeks else 0
    reports, devices = np.zeros(length), np.zeros((length, len(metric.labels)))
    for week in weeks:
        place = (week.monday.toordinal() - first) // _DAYS
        reports[place] = week.tally.total
        devices[place] = debiased(mechanism, (), week.tally).frequency * week.tally.total
    constant = mechanism.variance(0.0)
    laws = (constant, mechanism.variance(1.0) - constant, *(joint_constants(mechanism) or (0.0, 0.0)))
    return _Ages(first, reports, devices, laws)


def _ratio(x: float, y: float, v_x: float, v_y: float, v_xy: float, z: float) -> dict[str, float | None]:
    """Return x / y with its errors and intervals; no numbers if y does not differ significantly from 0.

    For the population y r (1 - r) is added to v_x - 2 r v_xy + r² v_y, which has the same form with v_y - y and v_xy -
    y / 2.
    """
    if y <= 0 or y**2 <= z**2 * v_y:
        return {}
    found: dict[str, float | None] = {"retention": (ratio := x / y)}
    for prefix, error, people in (("noise_", "noise_error", 0.0), ("", "standard_error", y)):
        with_y, with_both = v_y - people, v_xy - people / 2
        spread = v_x - 2 * ratio * with_both + ratio**2 * with_y
        square, middle = y**2 - z**2 * with_y, x * y - z**2 * with_both
        reach = max(0.0, middle**2 - square * (x**2 - z**2 * v_x)) ** 0.5
        found[error] = max(0.0, spread) ** 0.5 / y
        found[f"{prefix}low"], found[f"{prefix}high"] = (
            min(1.0, max(0.0, (middle + side) / square)) for side in (-reach, reach)
        )
    return found
