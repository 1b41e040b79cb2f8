"""Sweeps over mechanisms and ε: repeated trials, their mean with its standard error, and the theory beside it."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dither_server.estimate import estimate
from dither_shared import Mechanism, ParameterError, Rappor
from dither_shared.mechanisms.count_mean_sketch import Sketch

from .naming import named
from .populations import Floats, Population
from .samplers import expected_tally, has_marginal
from .samplers.hashed import positions
from .trials import Law, Outcome, Setting, affordable_law, run_trial

__all__ = ["Plan", "Row", "Run", "Task", "predicted_mse", "run_here", "sweep"]

Task = tuple[Setting, np.random.SeedSequence]
Run = Callable[[Sequence[Task]], Iterable[Outcome]]
"""Runs tasks and returns their outcomes in the order given; where and in which order it runs them is its affair."""


@dataclass(frozen=True)
class Plan:
    """What to sweep over: every mechanism (a name, or "auto") at every ε, ``repeats`` trials each.

    ``law`` None is the joint one where that is affordable.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    population: Population
    distribution: str
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law | None = None

    def settings(self) -> tuple[Setting, ...]:
        """Return what is tried, name by name.

        Raises ParameterError for an ε that a mechanism cannot have, or a law.
        """
        size = len(self.population.labels)
        mechanisms = (named(name, size, epsilon) for name in self.names for epsilon in self.epsilons)
        return tuple(Setting(each, self.population, self.confidence, self._law_of(each)) for each in mechanisms)

    def _law_of(self, mechanism: Mechanism) -> Law:
        if self.law == "marginal" and not has_marginal(mechanism):
            raise ParameterError("law", f"the values of {mechanism.name} have no marginal law; its hashing ties them")
        return self.law or affordable_law(mechanism, self.population)

    def tasks(self) -> list[Task]:
        """Return every trial with its seed, which depends on the plan's seed and on the trial's place in the plan."""
        settings = self.settings()
        seeds = np.random.SeedSequence(self.seed).spawn(len(settings))
        return [
            (setting, seed) for setting, root in zip(settings, seeds, strict=True) for seed in root.spawn(self.repeats)
        ]


@dataclass(frozen=True)
class Row:
    """The result of one mechanism at one ε. A ``_se`` is the standard error of the mean over repeats.

    ``asked`` is the name by which the mechanism was asked for, "auto" or its own; ``law`` says how tallies were drawn
    (``trials.Law``): under "marginal", ``max_error`` and the standard errors are not quite those of a collection.

    Errors are those of a frequency (a share between 0 and 1): ``mse`` the squared error averaged over values,
    ``max_error`` the largest absolute one, ``coverage`` the share of values whose interval holds the truth.
    """

    asked: str
    mechanism: str
    law: Law
    epsilon: float
    size: int
    users: int
    distribution: str
    mse: float
    mse_se: float | None
    mse_theory: float
    max_error: float
    max_error_se: float | None
    coverage: float
    coverage_se: float | None
    confidence: float
    repeats: int
    seed: int


def run_here(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """Run tasks one after the other, in this process."""
    return (run_trial(setting, seed) for setting, seed in tasks)


def sweep(plan: Plan, run: Run = run_here) -> list[Row]:
    """Return a row for each name and ε of ``plan``, in that order; the numbers do not depend on ``run``."""
    tasks = plan.tasks()
    outcomes = iter(run(tasks))
    asked = [(name, epsilon) for name in plan.names for epsilon in plan.epsilons]
    return [
        _row(plan, setting, *each, list(islice(outcomes, plan.repeats)))
        for (setting, _), each in zip(tasks[:: plan.repeats], asked, strict=True)
    ]


def predicted_mse(mechanism: Mechanism, population: Population) -> float:
    """Return the squared error that theory expects, averaged over values.

    In a closed domain the mean over v of Var(f_v)/n, exact for these users (Wang et al. 2017, equation 2). For the
    sketches the same and the squared bias of the hash functions there are. For RAPPOR, which is decoded by regression,
    the mean squared standard error that the regression states on the tally expected of these users: that of weighted
    least squares, to first order.
    """
    if isinstance(mechanism, Rappor):
        ideal = estimate(mechanism, population.labels, expected_tally(mechanism, population))
        return float(np.mean(ideal.standard_error**2))
    noise = _mean_variance(mechanism, population.shares) / population.users
    if isinstance(mechanism, Sketch):
        return noise + float(np.mean(_bias(mechanism, population) ** 2))
    return noise


def _mean_variance(mechanism: Mechanism, shares: Floats) -> float:
    """Return the mean of ``mechanism.variance``, which is V(0) + f (V(1) - V(0)) + c f (1-f) with some c."""
    none, half, whole = (mechanism.variance(share) for share in (0.0, 0.5, 1.0))
    linear = none + float(shares.mean()) * (whole - none)
    return linear + (4 * half - 2 * none - 2 * whole) * float((shares * (1 - shares)).mean())


def _bias(mechanism: Sketch, population: Population) -> Floats:
    """Return what fixed hash functions add to each estimate: m/(m-1) Σ_(u≠v) f_u (share of collisions - 1/m)."""
    columns = positions(mechanism, population.labels)[:, :, 0]
    cohorts = np.arange(mechanism.cohorts)
    load = np.zeros((mechanism.cohorts, mechanism.bits))
    np.add.at(load, (cohorts, columns), population.shares[:, np.newaxis])
    others = load[cohorts, columns].mean(axis=1) - population.shares
    chance = 1 / mechanism.bits
    return np.asarray((others - chance * (1 - population.shares)) / (1 - chance))


def _row(plan: Plan, setting: Setting, asked: str, epsilon: float, outcomes: Sequence[Outcome]) -> Row:
    mse, mse_se = _mean([outcome.mse for outcome in outcomes])
    max_error, max_error_se = _mean([outcome.max_error for outcome in outcomes])
    coverage, coverage_se = _mean([outcome.coverage for outcome in outcomes])
    return Row(
        asked=asked,
        mechanism=setting.mechanism.name,
        law=setting.law,
        epsilon=epsilon,
        size=len(plan.population.labels),
        users=plan.population.users,
        distribution=plan.distribution,
        mse=mse,
        mse_se=mse_se,
        mse_theory=predicted_mse(setting.mechanism, plan.population),
        max_error=max_error,
        max_error_se=max_error_se,
        coverage=coverage,
        coverage_se=coverage_se,
        confidence=plan.confidence,
        repeats=plan.repeats,
        seed=plan.seed,
    )


def _mean(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, which one value alone does not have."""
    if len(values) == 1:
        return values[0], None
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
