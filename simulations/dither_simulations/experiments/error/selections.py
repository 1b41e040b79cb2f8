"""``dither-sim error --type selection``: the error of the share of people who have each of some items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.intervals.exact import exact_interval
from dither_shared import MECHANISMS, Mechanism, ParameterError

from ...choices import Law
from ...experiments.error.shares import intervals, scores
from ...mechanism_by_name import PER_ITEM, SELECTIONS, SET_MECHANISMS, named_selection
from ...plots import Curve
from ...samplers.devices import device_entropy, device_tally
from ...samplers.sets import sample_sets
from ...sweeps import Row
from ...tables import EPSILON, INTERVALS, MECHANISM, SQUARED_ERROR, parameter, value
from ...users.populations import Floats, numbered
from ...users.sets import SetLaw, drawn_sets
from .accuracy import Accuracy, Cell


def run_set_trial(
    mechanism: Mechanism,
    people: SetLaw,
    users: int,
    seed: np.random.SeedSequence,
    *,
    law: Law = "joint",
    confidence: float = 0.95,
    top: int = 10,
) -> Row:
    """Return the errors of the shares of items, relative to the population from which a trial draws its users.

    ``mechanism`` takes sets or, for one item, a yes or no: each person then reports each item separately. Measured are
    the squared error averaged over items, the largest error, the recall of the most frequent items, and the coverage
    and mean width of intervals. The result depends only on the arguments.
    """
    frequency: Floats
    rng, shares = np.random.default_rng(seed), people.shares
    if not mechanism.items.sets:
        p, q = float(mechanism.p), float(mechanism.q)
        supporting = rng.binomial(users, q + (p - q) * shares)
        frequency = (supporting / users - q) / (p - q)
        low, high = exact_interval(mechanism, supporting, np.full(len(shares), users), 1 - confidence)
    else:
        if law == "device":
            tally = device_tally(mechanism, drawn_sets(people, users, rng), device_entropy(seed))
        else:
            tally = sample_sets(mechanism, people, users, rng)
        estimates = estimate(mechanism, numbered(mechanism.size or 0), tally, confidence)
        frequency, low, high = estimates.frequency, estimates.low, estimates.high
    scored = scores(frequency, shares, top)
    return {name: scored[name] for name in ("mse", "max_error", "recall")} | intervals(low, high, shares)


def expected_sets(mechanism: Mechanism, people: SetLaw, users: int, confidence: float) -> dict[str, float]:
    """Return what theory expects: Var[noise]/n + f(1-f)/n of each item, and intervals of ± z standard errors."""
    shares = people.shares
    variances = np.array([mechanism.variance(share) for share in shares.tolist()]) + shares * (1 - shares)
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    width = 2 * quantile * float(np.mean(np.sqrt(variances))) / math.sqrt(users)
    return {"mse_theory": float(variances.mean()) / users, "width_theory": width}


@dataclass(frozen=True, kw_only=True)
class SelectionAccuracy(Accuracy):
    """Row the error of every mechanism of sets; a person has at most ``at_most`` items.

    Users are drawn for each trial, and the truth is that of the population. ``size`` is the number of items.
    """

    at_most: int | None = None
    top: int = 10

    offered: ClassVar = SELECTIONS
    usual_size: ClassVar = 8
    noun: ClassVar = "item"
    only_joint: ClassVar = "the items of a report are dependent"
    axes: ClassVar = {"epsilon": "ε of one report", "users": "users", "size": "items"}
    curves: ClassVar = (Curve("mse", "mean squared error of a share"),)
    columns: ClassVar = (
        MECHANISM,
        parameter("size", "items"),
        parameter("users", "n"),
        EPSILON,
        *SQUARED_ERROR,
        value("max_error", "max error", ".2e"),
        value("recall", "top-{top} recall", ".2f"),
        *INTERVALS,
    )

    @classmethod
    def usual(cls, given: Mapping[str, Any]) -> Sequence[str]:
        """Return the mechanisms of sets that need no limit, or all if there is one; and items asked one by one."""
        limited = given["at_most"] is not None
        return [*(name for name in SET_MECHANISMS if limited or "at_most" not in MECHANISMS[name].keys), PER_ITEM]

    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism."""
        mechanism = named_selection(cell.asked, cell.size, self.at_most, cell.epsilon, self.permanent_epsilon)
        if self.law == "device" and not mechanism.items.sets:
            raise ParameterError("--law", f"device cannot be used with {cell.asked}, which asks about items one by one")
        return mechanism

    def people(self, cell: Cell) -> SetLaw:
        """Return the law of a person's set; raise ParameterError if there is no such set."""
        law: SetLaw = self.source.people(cell.size, self.at_most)
        return law

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return the measures of one trial."""
        mechanism, people, law = self.mechanism(cell), self.people(cell), self.law_of(cell)
        return (run_set_trial(mechanism, people, cell.users, seed, law=law, confidence=self.confidence, top=self.top),)

    def about(self, cell: Cell) -> Row:
        """Return the columns that describe a cell."""
        self.people(cell)
        return super().about(cell)

    def extent(self, cell: Cell) -> Row:
        """Return the columns of the cell: the number of items, and how many a person may have."""
        return {"size": cell.size, "at_most": self.at_most, "top": min(self.top, cell.size)}

    def theory(self, cell: Cell) -> Sequence[Row]:
        """Return what theory expects of the squared error and of the width of intervals."""
        return (expected_sets(self.mechanism(cell), self.people(cell), cell.users, self.confidence),)

    def fixed(self, rows: Sequence[Row]) -> list[str]:
        """Return the number of items, with the limit, if it is fixed."""
        most = "" if self.at_most is None else f", at most {self.at_most}"
        return [f"{size}{most}" for size in super().fixed(rows)]
