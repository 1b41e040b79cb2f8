"""Ten questions about a device's own past, asked of fleets with churn: ``python -m tests.benchmarks.own_past``.

A survey draws 20,000 devices, of which 60% are tried once or twice and 40% stay, over 26 calendar weeks. Answers are
formed by the rules of ``of`` and reported at the first use after their period; each tally is drawn from the exact law
of its mechanism, and estimated as in the collector. Intervals should contain the values of the population from which
fleets are drawn (``survey``), and those from the noise alone the values of the devices of the survey. Counts of devices
should be the number of devices in use in the period and before it. For shares of one question the mean is shown.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.analysis.retention import Week, retained
from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

from .tables import Part, run

DEVICES, WEEKS, SURVEYS, SEED = 20_000, 26, 1_000, 20261128
EPSILON = 2.0
MONDAY = date(2026, 6, 1)

KINDS = ((0.6, 0.55, 0.12), (0.4, 0.05, 0.45))
"""Of devices: the share, the chance that a week is the last one, and the chance to be in use on a day until then."""

STEPS = ("opened", "edited", "saved", "shared", "other")
_FURTHEST = np.array([0.45, 0.25, 0.15, 0.1, 0.05])
_MEAN_USES, _MOST_USES, _WINDOW = 1.7, 50, 28

METRICS = parse_metrics(f"""
[metrics.kept]
type = "choice"
values = ["0", "1", "4", "12"]
of = "weeks-since-first-use"
period = "week"
epsilon = {EPSILON}

[metrics.days]
type = "number"
low = 0
high = 28
of = "days"
period = "week"
epsilon = {EPSILON}

[metrics.uses]
type = "number"
low = 0
high = {_MOST_USES}
of = "count"
period = "week"
epsilon = {EPSILON}

[metrics.step]
type = "choice"
values = ["opened", "edited", "saved", "shared"]
of = "furthest"
period = "week"
epsilon = {EPSILON}
""")

PEOPLE, AIM = 2_000, 2.0
"""Devices of a survey of week-4 retention, and the aim in points."""

LISTS = (("0", "4"), ("0", "1", "4", "12"), ("0", "1", "2", "4", "8", "12"), ("4", "12"))
_WIDTHS = ("± by noise", "± of a population", "devices for ± 2 by noise", "of a population")

Days = NDArray[np.bool_]


class Fleet(NamedTuple):
    """Devices: the week of the first use of each, and on which days it was in use, shape (devices, days)."""

    first: NDArray[np.int64]
    days: Days

    @classmethod
    def drawn(cls, rng: np.random.Generator, devices: int = DEVICES, weeks: int = WEEKS) -> "Fleet":
        """Return devices that begin in any of the weeks, on any day of it."""
        first, begun = rng.integers(0, weeks, devices), rng.integers(0, 7, devices)
        share, ends, use = (np.array(column) for column in zip(*KINDS, strict=True))
        kind = rng.choice(len(KINDS), devices, p=share)
        last = first + rng.geometric(ends[kind]) - 1
        day = np.arange(7 * weeks)
        days = rng.random((devices, 7 * weeks), dtype=np.float32) < use[kind].astype(np.float32)[:, np.newaxis]
        start = (7 * first + begun)[:, np.newaxis]
        days &= (day > start) & (day < 7 * (last + 1)[:, np.newaxis])
        days |= day == start
        return cls(first, days)

    @property
    def weeks(self) -> Days:
        """In which weeks each was in use, shape (devices, weeks)."""
        return np.asarray(self.days.reshape(len(self.days), -1, 7).any(axis=2))


class Found(NamedTuple):
    """Whether intervals hold the population's value and, by the noise alone, that of the devices of the survey."""

    population: bool
    sample: bool


def survey(rng: np.random.Generator, truth: dict[str, float]) -> dict[str, Found]:
    """Draw a fleet, ask it, and return which intervals held."""
    fleet = Fleet.drawn(rng)
    held_by_name = _numbers(fleet, truth, rng) | _steps(fleet, truth, rng)
    weeks = fleet.weeks
    for row in retention_of(METRICS["kept"], fleet, rng):
        if week := row["week"]:
            began = fleet.first < WEEKS - week
            kept = weeks[began, fleet.first[began] + week].mean()
            held_by_name[f"week-{week} retention"] = Found(
                bool(row["low"] <= truth[f"week {week}"] <= row["high"]),
                bool(row["noise_low"] <= kept <= row["noise_high"]),
            )
    return held_by_name


def retention_of(
    metric: Metric, fleet: Fleet, rng: np.random.Generator, last: int | None = None
) -> list[dict[str, float]]:
    """Return the rows of a metric's retention, from all weeks or from this many."""
    weeks, labels = fleet.weeks, np.array([int(label) for label in metric.labels])
    tallies = []
    for week in range(weeks.shape[1] if last is None else last):
        ages = week - fleet.first[weeks[:, week]]
        counts = (ages[:, np.newaxis] == labels).sum(axis=0)
        tally = sample_tally(metric.mechanism, Population(metric.labels, counts), rng)
        tallies.append(Week(MONDAY + timedelta(days=7 * week), tally))
    return retained(metric, tallies, None, 0.95).rows()


def _numbers(fleet: Fleet, truth: dict[str, float], rng: np.random.Generator) -> dict[str, Found]:
    """Return the estimates of the numbers reported in the last week."""
    days, uses = _answers(fleet, rng)
    found = {}
    for name, values, most in (("days", days, _WINDOW), ("uses", uses, _MOST_USES)):
        mean = estimate_number(law_of(METRICS[name].mechanism), _tally(METRICS[name], values, rng)).mean
        found[name] = Found(
            mean.low <= truth[name] / most <= mean.high, mean.noise_low <= values.mean() / most <= mean.noise_high
        )
    return {"days of 28": found["days"], "uses per week": found["uses"], "stickiness": found["days"]}


def _answers(fleet: Fleet, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return days of 28 and uses of the devices that report in the last week: of the last week before it in use."""
    reporting, ended = _reporting(fleet)
    ends = 7 * (ended + 1)
    totals = np.pad(fleet.days[reporting].cumsum(axis=1), ((0, 0), (1, 0)))
    at = np.arange(len(ends))
    of_window = totals[at, ends] - totals[at, np.maximum(ends - _WINDOW, 0)]
    of_week = totals[at, ends] - totals[at, ends - 7]
    uses = np.minimum(of_week + rng.poisson(_MEAN_USES * of_week), _MOST_USES)
    return of_window, uses


def _reporting(fleet: Fleet) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the devices with a report in the last week, and the week that it is about: at most 30 days back."""
    weeks = fleet.weeks
    before = weeks[:, :-1]
    last = before.shape[1] - 1 - before[:, ::-1].argmax(axis=1)
    there = weeks[:, -1] & before.any(axis=1) & (7 * (weeks.shape[1] - 1 - last) <= 30)
    return np.flatnonzero(there), last[there]


def _steps(fleet: Fleet, truth: dict[str, float], rng: np.random.Generator) -> dict[str, Found]:
    reporting, _ = _reporting(fleet)
    counts = rng.multinomial(len(reporting), _FURTHEST)
    metric = METRICS["step"]
    result = estimate(metric.mechanism, metric.labels, sample_tally(metric.mechanism, Population(STEPS, counts), rng))
    return {
        f"furthest step: {name}": Found(
            bool(result.low[place] <= share <= result.high[place]),
            bool(result.noise_low[place] <= counts[place] / counts.sum() <= result.noise_high[place]),
        )
        for place, (name, share) in enumerate(zip(STEPS, _FURTHEST, strict=True))
    }


def _tally(metric: Metric, values: NDArray[np.int64], rng: np.random.Generator) -> Tally:
    """Return the tally of whole numbers, each rounded at random to the grid and then perturbed."""
    counts = np.zeros(metric.mechanism.size or 0, dtype=np.int64)
    for value, people in enumerate(np.bincount(values)):
        answer = metric.answers.encode(value)
        point, up = int(answer.item), rng.binomial(people, (answer.rest or 0) / 2**64)
        counts[point] += people - up
        if up:
            counts[point + 1] += up
    labels = tuple(map(str, range(len(counts))))
    return sample_tally(metric.mechanism, Population(labels, counts), rng)


def truths(rng: np.random.Generator, fleets: int = 100) -> dict[str, float]:
    """Return the population's values: of retention exactly, of means from this many fleets, which are others."""
    known = {f"week {week}": _kept(week) for week in (1, 4, 12)}
    answers = [_answers(Fleet.drawn(rng), rng) for _ in range(fleets)]
    days, uses = (np.concatenate([answer[place] for answer in answers]) for place in (0, 1))
    return known | {"days": float(days.mean()), "uses": float(uses.mean())}


def _kept(week: int) -> float:
    return float(sum(share * (1 - ends) ** week * (1 - (1 - use) ** 7) for share, ends, use in KINDS))


def counted(fleet: Fleet) -> dict[str, tuple[int, int]]:
    """Return the reports of the last day, week and 4 weeks, and the devices that were in use then and before."""
    days = fleet.days
    found = {}
    for name, length in (("daily", 1), ("weekly", 7), ("monthly", 28)):
        whole = days[:, -(days.shape[1] // length) * length :].reshape(len(days), -1, length)
        periods: Days = np.asarray(whole.any(axis=2))
        reports, kept = 0, np.zeros(len(days), dtype=np.bool_)
        for period in range(periods.shape[1]):  # as a device does: at the first use in a period it reports the one kept
            reports = int((periods[:, period] & kept).sum())
            kept |= periods[:, period]
        found[name] = reports, int((periods[:, -1] & periods[:, :-1].any(axis=1)).sum())
    return found


def measured(surveys: int) -> Iterator[list[str]]:
    """Yield how often the intervals of each question hold, and that counts of devices are exact."""
    rng, held = np.random.default_rng(SEED), defaultdict[str, list[Found]](list)
    truth = truths(rng)
    for _ in range(surveys):
        for name, found in survey(rng, truth).items():
            held[name.partition(":")[0]].append(found)
    rows = [[name, *(f"{100 * share:.1f}" for share in np.array(found).mean(axis=0))] for name, found in held.items()]
    exact = [counted(Fleet.drawn(rng)) for _ in range(10)]
    for name in exact[0]:
        assert all(reports == devices for reports, devices in (one[name] for one in exact))
        rows.append([f"{name} active devices", "exact", "exact"])
    yield from sorted(rows)


def design(values: Sequence[str], spread: int, surveys: int) -> Iterator[list[str]]:
    """Yield how exactly week-4 retention is known of 2,000 devices that began in ``spread`` weeks.

    That is half of the mean width of intervals, in points; widths fall with the root of the number of devices.
    Devices went on to begin in the same number a week. Without "0" among the values, the number of devices that are
    back is divided by the exact number of devices that began, which a metric counts that a device answers once.
    """
    listed = ", ".join(f'"{value}"' for value in values)
    metric = parse_metrics(
        f'[metrics.kept]\ntype = "choice"\nvalues = [{listed}]\nof = "weeks-since-first-use"\nperiod = "week"\n'
        f"epsilon = {EPSILON}"
    )["kept"]
    place, widths, weeks = list(values).index("4"), [], spread + max(map(int, values))
    rng = np.random.default_rng([SEED, spread, *map(int, values)])
    for _ in range(surveys):
        fleet = Fleet.drawn(rng, PEOPLE * weeks // spread, weeks)
        row = retention_of(metric, fleet, rng, last=spread + 4)[place]
        if "0" in values:
            widths.append(((row["noise_high"] - row["noise_low"]) / 2, (row["high"] - row["low"]) / 2))
        else:
            share, noise = row["devices"] / PEOPLE, row["devices_error"] / PEOPLE
            widths.append((1.96 * noise, 1.96 * (noise**2 + share * (1 - share) / PEOPLE) ** 0.5))
    points = (100 * np.array(widths).mean(axis=0)).tolist()
    needed = [f"{-(-PEOPLE * (width / AIM) ** 2 // 100) * 100:,.0f}" for width in points]
    name = ", ".join(values) + ("" if "0" in values else ", by the exact number that began")
    yield [name, str(spread), *(f"{width:.1f}" for width in points), *needed]


PARTS = {
    "intervals": Part("own-past", ("question", "population", "devices of the survey"), [()], measured, SURVEYS),
    "retention": Part(
        "retention",
        ("weeks listed", "began in weeks", *_WIDTHS),
        [(values, spread) for values in LISTS for spread in (4, 22)],
        design,
        60,
    ),
}

if __name__ == "__main__":
    run(__doc__, **PARTS)
