"""``dither-sim error --type number``: the errors of means, distributions and quantiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither_shared.mechanisms.numeric import NumericMechanism

from ...output.lines import Curve
from ...output.tables import EPSILON, measured, over_theory, parameter, value
from ...sweeps import Row
from ...trials.mechanism_by_name import NUMERIC, named_numeric
from ...trials.numbers import cut_mse, expected_numbers, least_mean_mse, run_number_trial
from ...trials.shares import Measures
from .accuracy import Accuracy, Cell

_FINE = 129
"""Points of the population whose least error is computed, the same for every mechanism."""


@dataclass(frozen=True, kw_only=True)
class NumberAccuracy(Accuracy):
    """Every mechanism of numbers; a row is about the mean, the distribution, or a quantile such as p95.

    Users are drawn in each trial, and the truth is that of the population. ``points`` is the size of the grid.
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
        "In parts of the range, except ranks, which are shares. For a distribution, MSE and width are those of the",
        "share below a point, error is the Wasserstein-1 distance, and rank is the worst error of such a share.",
    )
    curves: ClassVar = (
        Curve("mse", "MSE of the mean", takes=lambda row: row["what"] == "mean"),
        Curve("error", "Wasserstein-1 distance", takes=lambda row: row["what"] == "distribution"),
    )

    def mechanism(self, cell: Cell) -> NumericMechanism:
        """Return the mechanism."""
        return named_numeric(cell.asked, cell.epsilon, self.permanent_epsilon)

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the measures of one trial for the mean, the distribution and each quantile."""
        mechanism = self.mechanism(cell)
        return run_number_trial(
            mechanism,
            self.source.shares(mechanism.size),
            cell.users,
            seed,
            law=self.law_of(cell),
            confidence=self.confidence,
            quantiles=self.quantiles,
        )

    def extent(self, cell: Cell) -> Row:
        """Return the number of points."""
        return {"points": self.mechanism(cell).size}

    def theory(self, cell: Cell) -> Sequence[Row]:
        """Return mean, distribution and quantiles; theory covers all of the mean, and nothing of quantiles."""
        mechanism = self.mechanism(cell)
        shares = self.source.shares(mechanism.size)
        mse, width = expected_numbers(mechanism, shares, cell.users, self.confidence)
        bound = least_mean_mse(cell.epsilon, self.source.shares(_FINE), cell.users)
        mean = {"mse_theory": mse, "mse_bound": bound, "width_theory": width}
        nothing: Row = dict.fromkeys(mean)
        return [
            {"what": "mean", **mean},
            {"what": "distribution", **nothing, "mse_theory": cut_mse(mechanism, shares, cell.users)},
            *({"what": f"p{100 * share:g}", **nothing} for share in self.quantiles),
        ]
