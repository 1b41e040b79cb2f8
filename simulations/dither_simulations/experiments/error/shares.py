"""``dither-sim error``: shares of listed answers; the errors of an estimate, and what theory expects of them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Self

import click
import numpy as np
from matplotlib.figure import Figure
from scipy import special

from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.fit import onto_simplex
from dither_server.estimation.intervals.score import share_interval
from dither_shared import Mechanism, ParameterError, SubsetSelection

from ...choices import STEPS, Law, Step
from ...collector import AskedMechanism, collected, collector_of_its_own, definitions, metrics_of, require_known
from ...mechanism_by_name import NAMES, named
from ...plots import Curve, curves_plot
from ...samplers import (
    Marginal,
    collision_bias,
    expected_tally,
    has_marginal,
    joint_draws,
    sample_support,
    sample_tally,
)
from ...samplers.devices import device_entropy, device_tally
from ...sweeps import Row
from ...tables import EPSILON, INTERVALS, MECHANISM, SQUARED_ERROR, ResultColumn, parameter, value, varies, write_bytes
from ...users.populations import Floats, Population
from .accuracy import Accuracy, Cell


def apply(step: Step, frequency: Floats, consistent: Callable[[Floats], Floats] = onto_simplex) -> Floats:
    """Return frequencies after a step; shape (k,). ``consistent`` computes the step of that name.

    - ``raw``: unbiased, unchanged;
    - ``consistent``: the closest point of the simplex ("Norm-Sub"), as the collector shows it;
    - ``shift``: the same number added to all, so that they sum to 1 ("Norm"); still unbiased if the truth sums to 1;
    - ``clip``: negative ones set to 0 ("Base-Pos"); sums over rare values are far too large;
    - ``rescale``: clipped, then divided by their sum ("Norm-Mul").
    """
    if step == "raw":
        return frequency
    if step == "consistent":
        return consistent(frequency)
    if step == "shift":
        return np.asarray(frequency + (1 - frequency.sum()) / len(frequency))
    positive = np.maximum(frequency, 0.0)
    return positive if step == "clip" or not positive.any() else np.asarray(positive / positive.sum())


def scores(frequency: Floats, shares: Floats, top: int) -> dict[str, float | None]:
    """Return the distances between the estimated frequencies of k values and their true shares; both of shape (k,).

    - ``mse``: the squared error averaged over values;
    - ``l1``: Σ|error|, twice the total variation distance;
    - ``max_error``: the largest |error|, L∞;
    - ``kl``: ``divergence``, or None if that is not defined;
    - ``recall``: that of the ``top`` most frequent values.

    All are None if there is no estimate (NaN), because there are too few reports.
    """
    if np.isnan(frequency).any():
        return dict.fromkeys(("mse", "l1", "max_error", "kl", "recall"))
    error = np.abs(frequency - shares)
    return {
        "mse": float(np.mean(error**2)),
        "l1": float(error.sum()),
        "max_error": float(error.max()),
        "kl": divergence(frequency, shares),
        "recall": recall(frequency, shares, top),
    }


def intervals(low: Floats, high: Floats, shares: Floats) -> dict[str, float | None]:
    """Return the ``coverage`` of intervals, the share that contains the truth, and their mean ``width``.

    All are of shape (k,). The truth is the share among the simulated users, not in their population.
    Both are None if there are no intervals (NaN), because too few reports are noisy.
    """
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return {"coverage": None, "width": None}
    held = float(((low <= shares) & (shares <= high)).mean())
    return {"coverage": held, "width": float((high - low).mean())}


def divergence(frequency: Floats, shares: Floats) -> float | None:
    """Return Σ f ln(f / share), in nats: the Kullback-Leibler divergence of the truth from the estimate.

    Defined if f is a distribution and 0 for each value that nobody has, else None. (The other
    direction is infinite as soon as one value is estimated at 0.)
    """
    some = frequency > 0
    if frequency.min() < 0 or abs(frequency.sum() - 1) > 1e-9 or not shares[some].all():
        return None
    return float(np.sum(frequency[some] * np.log(frequency[some] / shares[some])))


def recall(frequency: Floats, shares: Floats, top: int) -> float:
    """Return the share of the ``top`` highest estimates whose values are among the ``top`` most frequent.

    A value as frequent as the last of these counts as one of them. Estimates that tie for the last places are equally
    likely to be taken; the mean over these choices is returned.
    """
    top = min(top, len(shares))
    frequent = shares >= np.partition(shares, -top)[-top]
    last = np.partition(frequency, -top)[-top]
    above, tied = frequency > last, frequency == last
    places = top - int(above.sum())
    return float((frequent[above].sum() + places * frequent[tied].mean()) / top)


MOST_DRAWS = 2e6
"""Maximum draws for which the joint law is the default: they take a fraction of a second."""


def affordable_law(mechanism: Mechanism, population: Population) -> Law:
    """Return "joint" unless that takes more than ``MOST_DRAWS`` and there is a marginal law."""
    if joint_draws(mechanism, population) > MOST_DRAWS and has_marginal(mechanism):
        return "marginal"
    return "joint"


class _TrialEstimate(NamedTuple):
    """The part of an estimate that a trial needs: frequencies, intervals for noise alone, and a consistency step."""

    frequency: Floats
    low: Floats
    high: Floats
    consistent: Callable[[Floats], Floats] = onto_simplex


def measured_after(trial: _TrialEstimate, shares: Floats, steps: Sequence[Step], top: int) -> list[Row]:
    """Return the measures of an estimate after each step; intervals are of "raw" frequencies."""
    held = intervals(trial.low, trial.high, shares)
    return [
        scores(apply(step, trial.frequency, trial.consistent), shares, top)
        | (held if step == "raw" else dict.fromkeys(held))
        for step in steps
    ]


def estimated(
    mechanism: Mechanism, population: Population, seed: np.random.SeedSequence, law: Law, confidence: float
) -> _TrialEstimate:
    """Draw the reports of a population, and estimate its shares from them."""
    decoded = Marginal(whole=mechanism) if law == "marginal" else mechanism
    if law == "device":
        tally = device_tally(mechanism, population, device_entropy(seed))
    else:
        draw = sample_support if law == "marginal" else sample_tally
        tally = draw(mechanism, population, np.random.default_rng(seed))
    if mechanism.items.open:
        whole = estimate(mechanism, population.labels, tally, confidence)
        return _TrialEstimate(whole.frequency, whole.noise_low, whole.noise_high, lambda _: whole.consistent)
    # The intervals about a population, which a trial does not ask for, would take most of its time.
    frequency, _, trials = debiased(decoded, population.labels, tally)
    return _TrialEstimate(frequency, *share_interval(decoded, frequency, trials, 1 - confidence, sampled=False))


def expected(mechanism: Mechanism, population: Population, epsilon: float, confidence: float) -> Row:
    """Return what theory expects of raw estimates from a mechanism that was requested at ``epsilon``.

    ``mse_bound`` is ``least_mse``. An error is close to normal, so Σ|error| is sqrt(2/π) times the sum of the standard
    deviations. An interval is the estimate ± z standard deviations, cut to [0, 1]. Open domains have no simple formula
    of either.
    """
    shares, users = population.shares, population.users
    mse, bound = predicted_mse(mechanism, population), least_mse(len(shares), epsilon, users)
    if mechanism.items.open:
        return {"mse_theory": mse, "mse_bound": bound, "l1_theory": None, "width_theory": None}
    noise = np.sqrt(_variances(mechanism, shares) / users)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * noise
    width = _cut(shares + half, noise) - _cut(shares - half, noise)
    return {
        "mse_theory": mse,
        "mse_bound": bound,
        "l1_theory": math.sqrt(2 / math.pi) * float(noise.sum()),
        "width_theory": float(width.mean()),
    }


def least_mse(size: int, epsilon: float, users: int) -> float:
    """Return the least mean squared error that unbiased frequencies can have from one ε-LDP report per user.

    It is that of subset selection with the best subset size (Ye and Barg 2019; Pan 2026). Biased estimates, such as
    consistent frequencies, may do better.
    """
    return SubsetSelection.calibrate(size, epsilon).risk / size / users


def predicted_mse(mechanism: Mechanism, population: Population) -> float:
    """Return the squared error that theory expects, averaged over values.

    In a closed domain the mean over v of Var(f_v)/n, exact for these users (Wang et al. 2017, equation 2). For the
    sketches, the squared bias of their hash functions is added. For RAPPOR, which is decoded by regression,
    the mean squared standard error that the regression states on the tally expected of these users: that of weighted
    least squares, to first order.
    """
    if not mechanism.pure:
        ideal = estimate(mechanism, population.labels, expected_tally(mechanism, population))
        return float(np.mean(ideal.standard_error**2))
    noise = float(_variances(mechanism, population.shares).mean()) / population.users
    return noise + float(np.mean(collision_bias(mechanism, population) ** 2))


def _variances(mechanism: Mechanism, shares: Floats) -> Floats:
    """Return ``mechanism.variance`` of each share, which is V(0) + f (V(1) - V(0)) + c f (1-f) with some c."""
    none, half, whole = (mechanism.variance(share) for share in (0.0, 0.5, 1.0))
    curve = (4 * half - 2 * none - 2 * whole) * shares * (1 - shares)
    return np.asarray(none + shares * (whole - none) + curve)


def _cut(center: Floats, deviation: Floats) -> Floats:
    """Return the mean of a normal variable that is clipped to [0, 1]: E max(0, X) - E max(0, X - 1)."""
    return _positive_part(center, deviation) - _positive_part(center - 1, deviation)


def _positive_part(center: Floats, deviation: Floats) -> Floats:
    score = center / deviation
    return np.asarray(center * special.ndtr(score) + deviation * np.exp(-(score**2) / 2) / math.sqrt(2 * math.pi))


_AUTO = "auto"
_SPENT = ResultColumn("ε spent", lambda row: f"{row['epsilon_spent']:.4g}", lambda rows: varies(rows, "day"))


@dataclass(frozen=True, kw_only=True)
class ShareAccuracy(Accuracy):
    """Every mechanism at every size, number of users, ε and day.

    ``law`` None is the joint one if that is affordable; under "marginal", ``max_error``, ``recall`` and the standard
    errors differ slightly from those of a real collection. All ``steps`` use the same trials, and theory is only about
    raw frequencies. ``epsilon_spent`` is the cost of the reports up to ``day`` for a person who always had the same
    value.
    """

    steps: tuple[Step, ...] = ("raw",)
    days: int = 1
    top: int = 10
    collector: str = ""

    offered: ClassVar = NAMES
    words: ClassVar = 3
    axes: ClassVar = {
        "day": "day, of a report each",
        "epsilon": "ε of one report",
        "users": "users",
        "size": "values",
    }
    curves: ClassVar = (Curve("mse", "mean squared error of a share"),)
    columns: ClassVar = (
        MECHANISM,
        value("law", "law"),
        ResultColumn("step", lambda row: row["step"], lambda rows: {row["step"] for row in rows} != {"raw"}),
        parameter("size", "k"),
        parameter("users", "n"),
        parameter("day", "day"),
        EPSILON,
        _SPENT,
        *SQUARED_ERROR,
        value("mse_bound", "bound", ".2e"),
        value("l1", "L1", ".3g"),
        value("max_error", "max error", ".2e"),
        value("kl", "KL", ".3g"),
        value("recall", "top-{top} recall", ".2f"),
        *INTERVALS,
    )

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that options set; a collector counts one trial."""
        fields = super().chosen(seed, given)
        if "all" in given["steps"]:
            fields["steps"] = STEPS
        if given["collector"]:
            fields |= {"law": "collector", "repeats": given["repeats"] or 1}
            if (fields["repeats"], given["days"], given["permanent_epsilon"]) != (1, 1, None):
                raise ParameterError("--collector", "needs one repeat, one day and no --permanent-epsilon")
        return fields

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> Sequence[str]:
        """Return all mechanisms except ``auto``."""
        return NAMES[1:]

    def check(self) -> None:
        """Raise ParameterError for impossible cells of the first day."""
        for cell in self.cells():
            if cell.day == 1:
                self.about(cell)

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """Yield the experiment with the collector that it needs, if any: a running one that fits, or a new one."""
        if not self.collector:
            yield self
            return
        metrics = metrics_of(self._surveys())
        if self.collector == _AUTO:
            with collector_of_its_own(self._surveys()) as address:
                yield replace(self, collector=address)
        else:
            require_known(self.collector, metrics)
            yield self

    def define(self, path: Path) -> None:
        """Write the definitions that a collector must have, and say how to start it."""
        write_bytes(path, definitions(self._surveys()).encode("utf-8"))
        click.echo(f"dither-server run --metrics {path} --db sqlite:///lab.db --port 8000")

    def _surveys(self) -> list[AskedMechanism]:
        return [(self.mechanism(cell), self.population(cell), cell.epsilon) for cell in self.cells()]

    def cells(self) -> Sequence[Cell]:
        """Return the grid of all sizes, with the days of each cell."""
        return [replace(cell, day=day) for cell in super().cells() for day in range(1, self.days + 1)]

    def identity(self) -> str:
        """Return a digest without the collector's address, because a collector may be started again elsewhere."""
        return super(ShareAccuracy, replace(self, collector="")).identity()

    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism of a cell."""
        return named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)

    def population(self, cell: Cell) -> Population:
        """Return the users of a cell."""
        people: Population = self.source.population(cell.size, cell.users, cell.day)
        return people

    def law_of(self, cell: Cell) -> Law:
        """Return the requested law, or an affordable one; raise ParameterError if the mechanism has none."""
        mechanism = self.mechanism(cell)
        population = self.population(cell)
        if self.law == "marginal" and not has_marginal(mechanism):
            raise ParameterError(
                "law", f"the values of {mechanism.name} have no marginal law, because its hashing ties them together"
            )
        return self.law or affordable_law(mechanism, population)

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return the measures of one trial after each step."""
        mechanism, population = self.mechanism(cell), self.population(cell)
        if self.collector:
            trial = _TrialEstimate(*collected(mechanism, population, cell.epsilon, self.collector, self.confidence))
        else:
            trial = estimated(mechanism, population, seed, self.law_of(cell), self.confidence)
        return measured_after(trial, population.shares, self.steps, self.top)

    def extent(self, cell: Cell) -> Row:
        """Return the columns of the cell: the number of values, the day, and the epsilon spent up to that day."""
        spent = self.mechanism(cell).epsilon_after(cell.day)
        return {"size": cell.size, "day": cell.day, "epsilon_spent": spent, "top": min(self.top, cell.size)}

    def theory(self, cell: Cell) -> Sequence[Row]:
        """Return one row per step. Theory covers only raw estimates, except for the lower bound of the error."""
        known = expected(self.mechanism(cell), self.population(cell), cell.epsilon, self.confidence)
        rest = dict.fromkeys(known) | {"mse_bound": known["mse_bound"]}
        return [{"step": step, **(known if step == "raw" else rest)} for step in self.steps]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a plot of the errors. If several days are simulated, add a panel of the ε spent so far."""
        if not varies(rows, "day"):
            return super().plot(rows)
        spent, error = Curve("epsilon_spent", "ε spent so far"), Curve("mse", "mean squared error", bounded=False)
        return curves_plot(rows, (spent, error), self.title(rows), self.axes)
