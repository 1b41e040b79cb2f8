"""``dither-sim error --type number``: how far means, distributions and quantiles are off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...output.curves import Curve
from ...output.tables import EPSILON, measured, over_theory, parameter, value
from ...sweeps import Part, Row
from ...trials.measures import Measures
from ...trials.mechanism_by_name import NUMERIC, named_numeric
from ...trials.number_theory import expected_numbers, least_mean_mse
from ...trials.number_trial import NumberSetting, run_number_trial
from .accuracy import Accuracy, Cell

_FINE = 129
"""Points of the population whose least error is computed, so that it is the same for every mechanism."""


@dataclass(frozen=True, kw_only=True)
class NumberAccuracy(Accuracy):
    """Every mechanism of numbers; a row is of the mean, of the distribution, or of a quantile such as p95.

    Users are drawn for each trial, and the truth is that of the population. ``points`` is the size of the grid.
    """

    quantiles: tuple[float, ...] = (0.5, 0.95)

    offered: ClassVar = NUMERIC
    only_joint: ClassVar = "the points of a number are dependent"
    words: ClassVar = 2
    columns: ClassVar = (
        value("asked", "mechanism"),
        value("what", "of"),
        parameter("users", "n"),
        EPSILON,
        measured("mse", "MSE", ".2e"),
        value("mse_theory", "theory", ".2e"),
        over_theory("mse"),
        value("mse_bound", "bound", ".2e"),
        value("error", "error", ".2e"),
        value("rank", "rank", ".4f"),
        value("coverage", "coverage", ".4f"),
        value("width", "width", ".2e"),
    )
    notes: ClassVar = (
        "",
        "In parts of the range, except ranks, which are shares. MSE and width of a distribution: of its share below a",
        "point. Its error: the Wasserstein-1 distance of the curve. Its rank: the worst error of a share below one.",
    )
    curves: ClassVar = (
        Curve("mse", "MSE of the mean", takes=lambda row: row["what"] == "mean"),
        Curve("error", "Wasserstein-1 distance", takes=lambda row: row["what"] == "distribution"),
    )

    def setting(self, cell: Cell) -> NumberSetting:
        """Return the mechanism and the population; raise ParameterError if there is no such mechanism for that ε."""
        mechanism = named_numeric(cell.asked, cell.epsilon, self.permanent_epsilon)
        law = self.law or "joint"
        shares = self.source.shares(mechanism.size)
        return NumberSetting(mechanism, shares, cell.users, self.confidence, law, self.quantiles)

    def simulate(self, setting: NumberSetting, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the measures of one trial for the mean, the distribution and each quantile."""
        return run_number_trial(setting, seed)

    def extent(self, cell: Cell, setting: NumberSetting) -> Row:
        """Return the number of points."""
        return {"points": setting.mechanism.size}

    def theory(self, cell: Cell, setting: NumberSetting) -> Sequence[Part]:
        """Return mean, distribution and quantiles; of the mean all is known, of quantiles nothing."""
        known = expected_numbers(setting.mechanism, setting.shares, cell.users, self.confidence)
        bound = least_mean_mse(cell.epsilon, self.source.shares(_FINE), cell.users)
        mean = {"mse_theory": known.mean_mse, "mse_bound": bound, "width_theory": known.width}
        nothing = dict.fromkeys(mean)
        return [
            Part({"what": "mean"}, mean),
            Part({"what": "distribution"}, nothing | {"mse_theory": known.cut_mse}),
            *(Part({"what": f"p{100 * share:g}"}, nothing) for share in self.quantiles),
        ]
