"""Measure how often a watch raises a false alarm at any of its looks, and how soon it sees a change."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from dither_server.analysis.sequential import Look, evidence
from dither_server.analysis.spread import spread_of
from dither_server.estimation.intervals.score import noise_law
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_shared import Mechanism, RandomizedResponse

from .tables import Part, run

SERIES, LOOKS, REFERENCE, ALPHA = 1_000, 200, 28, 0.05
"""Series, days on each of which somebody looks, days of the reference, and the chance of any false alarm."""


class Setting(NamedTuple):
    """A share before and after, reports a day, and whether the same people report every day.

    ``crowds`` are people of the reference and of equal parts of the days since; 0 if nobody reports twice.
    """

    epsilon: float
    share: float
    after: float
    reports: int
    crowds: int = 0
    distinct: bool = False
    change: float = 0.05


def _days(setting: Setting, series: int, rng: np.random.Generator) -> tuple[Floats, Mechanism]:
    """Return how many reports of each day support the value, shape (days, series)."""
    mechanism = RandomizedResponse.calibrate(2, setting.epsilon)
    p, q, days = float(mechanism.p), float(mechanism.q), REFERENCE + LOOKS
    shares = np.where(np.arange(days) < REFERENCE, setting.share, setting.after)[:, np.newaxis]
    if not setting.crowds:
        return rng.binomial(setting.reports, q + (p - q) * shares, (days, series)).astype(np.float64), mechanism
    of_crowd = np.append(np.zeros(REFERENCE, dtype=int), 1 + np.arange(LOOKS) * setting.crowds // LOOKS)
    chances = np.append(setting.share, np.full(setting.crowds, setting.after))[:, np.newaxis]
    holders = rng.binomial(setting.reports, chances, (len(chances), series))[of_crowd]
    return (rng.binomial(holders, p) + rng.binomial(setting.reports - holders, q)).astype(np.float64), mechanism


def alarms(setting: Setting, series: int = SERIES, seed: int = 1) -> Floats:
    """Return the first day of an alarm in each series; NaN without any."""
    found, mechanism = _days(setting, series, np.random.default_rng(seed))
    reference = _look(mechanism, setting, found[:REFERENCE].sum(axis=0), REFERENCE)
    supporting, first = np.zeros(series), np.full(series, np.nan)
    for day in range(1, LOOKS + 1):
        supporting = supporting + found[REFERENCE + day - 1]
        logarithm, _ = evidence(reference, _look(mechanism, setting, supporting, day), setting.change)
        first = np.where(np.isnan(first) & (logarithm >= np.log(1 / ALPHA)), day, first)
    return first


def _look(mechanism: Mechanism, setting: Setting, supporting: Floats, days: int) -> Look:
    reports = days * setting.reports
    repeats = 1.0 if setting.distinct else Repeats((setting.reports,) * days).effect
    frequency = (supporting / reports - float(mechanism.q)) / float(mechanism.p - mechanism.q)
    error = noise_law(mechanism, repeats).sampled().error(np.clip(frequency, 0, 1), np.array(float(reports)))
    spread = spread_of(mechanism, frequency, error, reports, repeats)
    return Look(date(2026, 1, 1) + timedelta(days=days), reports, frequency, spread)


def measured(people: str, crowds: int, epsilon: int, share: float, change: float, series: int) -> Iterator[list[str]]:
    """Yield how many series raise an alarm, and when."""
    made = Setting(epsilon, share, share + change, 2_000, crowds, distinct="distinct" in people)
    days = alarms(made, series)
    seen = days[np.isfinite(days)]
    median = f"{np.median(seen):.0f}" if len(seen) > len(days) / 2 else "-"
    setting = [f"{epsilon}", f"{100 * share:g}", f"{100 * change:.0f}", people]
    yield [*setting, str(len(seen)), f"{(days <= 28).sum()}", median]


HEAD = ("ε", "share, %", "change, points", "people", "alarms in 200 days", "in 28 days", "median day")
CELLS = [
    (people, crowds, epsilon, share, change)
    for people, crowds in (
        ("others every day", 0),
        ("others every day, and --distinct", 0),
        ("the same since, others before", 1),
        ("ten crowds, one after the other", 10),
    )
    for epsilon, share in ((1, 0.3), (4, 0.3), (4, 0.01))
    for change in (0.0, 0.05)
]

if __name__ == "__main__":
    run(__doc__, watched=Part("watched", HEAD, CELLS, measured, SERIES, words=4))
