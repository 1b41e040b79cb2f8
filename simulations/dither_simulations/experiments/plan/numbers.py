"""``dither-sim plan --type number``: how many users a mean takes, or a quantile, at each ε."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.registry import law_of
from dither_shared import ParameterError, RandomizedResponse
from dither_shared.counted import counted
from dither_shared.mechanisms.auto import choose
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.privacy.wording import numeric_odds_sentence

from ...output.tables import Column, results_table, value
from ...sweeps import Row
from ...trials.mechanism_by_name import named_numeric
from ...trials.number_theory import least_variance
from .planner import IntervalPlanner, in_percent, percent, yes_or_no

_FEW_VALUES = 16
"""Up to this many different answers, a list is more accurate than a grid."""

_EVEN = 1 / 12
"""The variance of answers that are even over the range, in squares of the range."""

_USUAL, _FOR_MEANS = ("dithered-response",), ("dithered-response-mean",)


@dataclass(frozen=True, kw_only=True)
class NumberPlanner(IntervalPlanner):
    """With ``rank`` None the mean within ± ``error`` of the range, else a quantile.

    The quantile of share ``rank`` is wanted within ± ``error`` in rank: 0.02 if the point named may have from 93 to 97%
    of the answers below it. It is named to the part ``within`` of the range, over which shares below are averaged.
    Answers are taken to be even over the range. ``size`` says how many different answers there can be, if few.
    """

    rank: float | None = None
    within: float = 1 / 16
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.within <= 1:
            raise ParameterError("within", f"{self.within!r} must lie between 0 and 1")

    @property
    def aim(self) -> str:
        """The mean, or a quantile such as p95."""
        return "mean" if self.rank is None else f"p{100 * self.rank:g}"

    @property
    def wanted(self) -> str:
        """The aim in words."""
        if self.rank is None:
            return f"mean ± {percent(self.error)} of the range"
        return f"{self.aim} ± {percent(self.error)} in rank, within {percent(self.within)} of the range"

    def needed(self, epsilon: float) -> int:
        """Return how many users the usual mechanism takes."""
        return self.users_for(named_numeric(_USUAL[0], epsilon, self.permanent_epsilon))

    def users_for(self, mechanism: NumericMechanism) -> int:
        """Return how many users the aim takes."""
        return self.users_of(self._variance(mechanism))

    def _variance(self, mechanism: NumericMechanism) -> float:
        """Return n·Var of the mean of even answers, or of the share below the place of a quantile.

        For a mean V + Var x. For a share, from all cuts within ρ of the range about the place: σ(1-σ)/(λ² m ρ), where
        σ = q j + λ t and j is the mean over these cuts of the number of cells below (``Dithered.cuts``).
        """
        if self.rank is None:
            return float(mechanism.average_mean_variance) + _EVEN
        law = law_of(mechanism)
        if not isinstance(law, Dithered):
            raise ParameterError("mechanism", f"{mechanism.name} has no theory of quantiles; take dithered-response")
        last, half = law.points - 1, max(self.within * (law.points - 1) / 2, 0.5)
        cuts = np.arange(1, law.points)
        near = cuts[np.abs(cuts - self.rank * last) <= half]
        cells = float(np.mean(-(-near // law.phases)))
        chance = float(law.q) * cells + law.gap * self.rank
        return chance * (1 - chance) / (law.gap**2 * law.steps * max(self.within, 1 / last))

    def rows(self) -> list[Row]:
        """Return what each ε costs and tells, by each mechanism that fits the aim, the usual one first.

        - ``steps``, ``points``, ``truth``: of the dithered response: cells less 1, points of the grid, P[the true
          cell];
        - ``users_needed``: for the aim; ``users_least``: by the best unbiased mechanism there can be, to 1%, for a
          mean;
        - ``users_threshold``: for the share above one threshold that is fixed beforehand, within the same error, asked
          as a yes or no; None for a mean;
        - ``users_listed``: for the share of each of few answers within the same error, asked as a choice;
        - ``margin``: the error that the users there are reach.
        """
        names = _USUAL if self.rank is not None else (*_USUAL, *_FOR_MEANS)
        return [self._row(name, epsilon) for epsilon in self.epsilons for name in names]

    def _row(self, name: str, epsilon: float) -> Row:
        mechanism = named_numeric(name, epsilon, self.permanent_epsilon)
        needed = self.users_for(mechanism)
        return {
            "mechanism": name,
            "aim": self.aim,
            "epsilon": epsilon,
            "steps": mechanism.cells - 1,
            "points": mechanism.size,
            "truth": float(mechanism.p),
            "users_needed": needed,
            "users_least": self._least_users(epsilon),
            "users_threshold": self._threshold(epsilon),
            "users_listed": self._listed(epsilon),
            "margin": None if self.users is None else self.error * math.sqrt(needed / self.users),
            "reached": self.reached(needed),
            **self.costs(mechanism),
        }

    def _least_users(self, epsilon: float) -> int | None:
        """Return the users of the best unbiased mean of one report each; None with a permanent part."""
        if self.rank is not None or self.permanent_epsilon is not None:
            return None
        even = np.full(65, 1 / 64)
        even[[0, -1]] /= 2
        return self.users_of(least_variance(epsilon, even) + _EVEN)

    def _threshold(self, epsilon: float) -> int | None:
        if self.rank is None:
            return None
        coin = RandomizedResponse.calibrate(2, epsilon, self.permanent_epsilon)
        chance = float(coin.q + (coin.p - coin.q) * self.rank)
        return self.users_of(chance * (1 - chance) / float(coin.p - coin.q) ** 2)

    def _listed(self, epsilon: float) -> int | None:
        if self.size is None or self.size > _FEW_VALUES:
            return None
        best = choose(self.size, epsilon, self.permanent_epsilon)
        share = 1 / self.size
        return self.users_of(best.variance(share) + share * (1 - share))

    def explain(self, rows: Sequence[Row]) -> str:
        """Return a table for a terminal, and when another question tells more."""
        level = f"at {100 * self.confidence:.4g} %; answers even over the range"
        usual = [(epsilon, named_numeric(_USUAL[0], epsilon, self.permanent_epsilon)) for epsilon in self.epsilons]
        return "\n".join(
            (
                f"{self.in_words()}wanted: {self.wanted} {level}",
                "",
                results_table(self._columns(rows), rows, words=2),
                "",
                self.answer(),
                *self._others(rows),
                *(f"  ε = {each:g}, to a person: {numeric_odds_sentence(mechanism)}." for each, mechanism in usual),
                self.memory(),
            )
        )

    def _columns(self, rows: Sequence[Row]) -> list[Column]:
        least = [] if rows[0]["users_least"] is None else [value("users_least", "≈ least", ",")]
        there = [in_percent("margin", "± reached"), yes_or_no("reached", "enough")]
        return [
            value("epsilon", "ε", "g"),
            value("mechanism", "mechanism"),
            value("steps", "steps"),
            value("truth", "P[true]", ".4f"),
            value("report_bytes", "bytes"),
            value("users_needed", "users", ","),
            *least,
            *([] if self.users is None else there),
            *self.loss_columns(),
        ]

    def _others(self, rows: Sequence[Row]) -> list[str]:
        """Return when to ask another question."""
        lines, last = [], rows[-1]
        at = f"At ε = {last['epsilon']:g} the share"
        if last["users_threshold"] is not None and last["users_threshold"] < last["users_needed"]:
            lines.append(
                f"A threshold that is known beforehand: ask yes or no (type boolean). {at} "
                f"above it takes {counted(last['users_threshold'], 'user')} rather than {last['users_needed']:,}."
            )
        if last["users_listed"] is not None:
            lines.append(
                f"Only {self.size} different answers: list them (type choice). {at} of each, "
                f"± {percent(self.error)}, takes {counted(last['users_listed'], 'user')}, and the quantiles follow."
            )
        return lines
