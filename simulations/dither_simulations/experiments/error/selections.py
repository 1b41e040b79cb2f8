"""``dither-sim error --type selection``: how far the share of people who have each of some items is off."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.intervals.exact import exact_interval
from dither_shared import MECHANISMS, Mechanism, ParameterError

from ...choices import Law
from ...output.curves import Curve
from ...output.tables import EPSILON, MECHANISM, measured, over_theory, parameter, results_table, value
from ...samplers.sets import sample_sets
from ...sweeps import Part, Row
from ...trials.devices import device_entropy, device_tally
from ...trials.measures import Measures, intervals, scores
from ...trials.mechanism_by_name import PER_ITEM, SELECTIONS, SET_MECHANISMS, named_selection
from ...users.populations import Floats, numbered
from ...users.sets import SetLaw, drawn_sets
from .accuracy import Cell, SizedAccuracy


@dataclass(frozen=True, eq=False)
class SetSetting:
    """The setting of a trial: everything but its seed.

    ``mechanism`` takes sets or, of one item, a yes or no: every person then reports of each item by itself.
    """

    mechanism: Mechanism
    people: SetLaw
    users: int
    confidence: float = 0.95
    law: Law = "joint"
    top: int = 10


class _Shares(NamedTuple):
    frequency: Floats
    low: Floats
    high: Floats


def run_set_trial(setting: SetSetting, seed: np.random.SeedSequence) -> Measures:
    """Return how far the shares of items are from those of the population of which a trial draws its users.

    Measured are the squared error averaged over items, the largest error, the recall of the most frequent items, and
    the coverage and mean width of intervals. The result depends on ``setting`` and ``seed`` alone.
    """
    found = (_together if setting.mechanism.items.sets else _each_alone)(setting, seed)
    shares = setting.people.shares
    scored = scores(found.frequency, shares, setting.top)
    return {
        **{name: scored[name] for name in ("mse", "max_error", "recall")},
        **intervals(found.low, found.high, shares),
    }


def expected_sets(setting: SetSetting) -> dict[str, float]:
    """Return what theory expects: Var[noise]/n + f(1-f)/n of each item, and intervals of ± z standard errors."""
    shares = setting.people.shares
    variances = np.array([setting.mechanism.variance(share) for share in shares.tolist()]) + shares * (1 - shares)
    quantile = NormalDist().inv_cdf((1 + setting.confidence) / 2)
    width = 2 * quantile * float(np.mean(np.sqrt(variances))) / math.sqrt(setting.users)
    return {"mse_theory": float(variances.mean()) / setting.users, "width_theory": width}


def _together(setting: SetSetting, seed: np.random.SeedSequence) -> _Shares:
    """Estimate from one report of each set."""
    mechanism, rng = setting.mechanism, np.random.default_rng(seed)
    if setting.law == "device":
        tally = device_tally(mechanism, drawn_sets(setting.people, setting.users, rng), device_entropy(seed))
    else:
        tally = sample_sets(mechanism, setting.people, setting.users, rng)
    found = estimate(mechanism, numbered(mechanism.size or 0), tally, setting.confidence)
    return _Shares(found.frequency, found.low, found.high)


def _each_alone(setting: SetSetting, seed: np.random.SeedSequence) -> _Shares:
    """Estimate from a report of each item by itself: support is Bin(n, q + (p - q) f), item by item."""
    coin, shares, users = setting.mechanism, setting.people.shares, setting.users
    p, q = float(coin.p), float(coin.q)
    supporting = np.random.default_rng(seed).binomial(users, q + (p - q) * shares)
    ends = exact_interval(coin, supporting, np.full(len(shares), users), 1 - setting.confidence)
    return _Shares((supporting / users - q) / (p - q), *ends)


@dataclass(frozen=True, kw_only=True)
class SelectionAccuracy(SizedAccuracy):
    """Every mechanism of sets; a person has at most ``at_most`` items.

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
        measured("mse", "MSE", ".2e"),
        value("mse_theory", "theory", ".2e"),
        over_theory("mse"),
        value("max_error", "max error", ".2e"),
        value("recall", "recall", ".2f"),
        value("coverage", "coverage", ".4f"),
        value("width", "width", ".2e"),
    )

    @classmethod
    def usual(cls, given: Mapping[str, Any]) -> Sequence[str]:
        """Return the mechanisms of sets that need no limit, or all with one; and items asked one by one."""
        limited = given["at_most"] is not None
        return [*(name for name in SET_MECHANISMS if limited or "at_most" not in MECHANISMS[name].keys), PER_ITEM]

    def setting(self, cell: Cell) -> SetSetting:
        """Return the mechanism and the people; raise ParameterError if there is no such mechanism, or no such set."""
        people = self.source.people(cell.size, self.at_most)
        mechanism = named_selection(cell.asked, cell.size, self.at_most, cell.epsilon, self.permanent_epsilon)
        if self.law == "device" and not mechanism.items.sets:
            raise ParameterError("--law", f"device cannot be used with {cell.asked}, which asks about items one by one")
        return SetSetting(mechanism, people, cell.users, self.confidence, self.law or "joint", self.top)

    def simulate(self, setting: SetSetting, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the measures of one trial."""
        return (run_set_trial(setting, seed),)

    def extent(self, cell: Cell, setting: SetSetting) -> Row:
        """Return the number of items, and how many a person may have."""
        return {"size": cell.size, "at_most": self.at_most, "top": min(self.top, cell.size)}

    def theory(self, cell: Cell, setting: SetSetting) -> Sequence[Part]:
        """Return what theory expects of the squared error and of the width of intervals."""
        return (Part({}, expected_sets(setting)),)

    def table(self, rows: Sequence[Row]) -> str:
        """Return the results for a terminal; how many items recall is of stands in its head."""
        head = f"top-{rows[0]['top']} recall"
        columns = [replace(one, head=head) if one.head == "recall" else one for one in self.columns]
        return results_table(columns, rows)

    def fixed(self, rows: Sequence[Row]) -> list[str]:
        """Return the number of items, with the limit, if it is fixed."""
        most = "" if self.at_most is None else f", at most {self.at_most}"
        return [f"{size}{most}" for size in super().fixed(rows)]
