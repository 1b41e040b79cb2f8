"""``dither-sim plan --type number``: compute how many users a mean or a quantile needs at each ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.special import ndtr, ndtri

from dither_server.estimation.numeric.dithered import Dithered, widths_of
from dither_server.estimation.numeric.estimate import quantiles_of
from dither_server.estimation.numeric.mean import student
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.estimation.planning import MAX_USERS, half_width, planned_scores, users_for
from dither_server.tally.arrays import Counts, Floats
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, RandomizedResponse
from dither_shared.counted import counted
from dither_shared.mechanisms.auto import choose
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.privacy.wording import numeric_odds_sentence

from ...experiments.error.numbers import least_variance
from ...mechanism_by_name import named_numeric
from ...sweeps import Row
from ...tables import ResultColumn, value
from .planner import IntervalPlanner, percent

_FEW_VALUES = 16
"""Number of different answers up to which a list is more accurate than a grid."""

_USUAL, _FOR_MEANS = ("dithered-response",), ("dithered-response-mean",)


@dataclass(frozen=True, kw_only=True)
class NumberPlanner(IntervalPlanner):
    """Plans a mean (``rank`` is None) within ± ``error`` of the range for any answers, or else a quantile.

    The printed interval of the quantile of share ``rank`` may reach at most ``error`` of the range to either side, if
    answers are uniform over the range; it is wider if few people have an answer near the quantile. ``size`` is the
    number of different answers, if there are few.
    """

    rank: float | None = None
    size: int | None = None

    @property
    def wanted(self) -> str:
        """The aim in words."""
        if self.rank is None:
            return f"mean {self.within} of the range, for any answers"
        return f"p{100 * self.rank:g} {self.within} of the range, for answers even over it"

    def mechanisms(self, epsilon: float) -> Sequence[NumericMechanism]:
        """Return the default mechanism and, for a mean, the one whose steps are optimal for means."""
        names = _USUAL if self.rank is not None else (*_USUAL, *_FOR_MEANS)
        return [named_numeric(name, epsilon, self.permanent_epsilon) for name in names]

    @property
    def _usual(self) -> list[NumericMechanism]:
        return [self.mechanisms(epsilon)[0] for epsilon in self.epsilons]

    def margin(self, mechanism: Mechanism, users: Counts) -> Floats:
        """Return the half-width of the interval, as a part of the range."""
        numeric = cast("NumericMechanism", mechanism)  # mechanisms() returns no other
        if self.rank is None:
            variance, (sure, both) = _worst_variance(numeric), planned_scores(self.confidence)
            # The printed error adds one report that is as far off as the worst on average are (``mean_of``). Its square
            # varies by (κ - 1)/n, where the kurtosis κ of scores is at most (half of their range)²/variance.
            least, most = numeric.reach
            varied = np.sqrt(max((most - least) ** 2 / (4 * variance) - 1, 0) / users)
            width = self.quantile * student(self.confidence, users) * np.sqrt((1 + 1 / users) * (1 + sure * varied))
            return np.asarray(np.maximum(width, both) * np.sqrt(variance / users))
        return np.array([self._reach_of_quantile(numeric, int(number), self.rank) for number in users])

    def _reach_of_quantile(self, mechanism: NumericMechanism, users: int, rank: float) -> float:
        """Return the reach of a quantile's interval to either side that a part ``confidence`` of surveys do not exceed.

        It is computed for the expected counts, with every bound moved outwards by the standard errors of a random
        deviation to either side. A Clopper-Pearson bound is z standard errors away, with z for its level.
        """
        law, last = law_of(mechanism), mechanism.size - 1
        if not isinstance(law, Dithered):
            raise ParameterError("mechanism", f"{mechanism.name} has no theory of quantiles; use dithered-response")
        windows, missed = len(widths_of(users, law.phases)), 1 - self.confidence
        away = -ndtri(missed / 2 / windows) - ndtri(missed / 2)
        cuts = law.cuts(_even(law, users), 1 - 2 * windows * float(ndtr(-away)))
        quantile = quantiles_of(cuts, np.full(law.points, 1 / law.points), (rank,))[0]
        return max(min(quantile.high + 1, last) / last - rank, rank - max(quantile.low - 1, 0) / last)

    def more(self, mechanism: Mechanism) -> Row:
        """Return the further columns of a row.

        - ``mechanism``: its name, with the purpose of its steps; ``steps``, ``points``, ``truth``: for the dithered
          response, the number of cells minus 1, the points of the grid, and P[the true cell];
        - ``users_least``: the users that the best possible unbiased mechanism needs, to 1%, for a mean without a
          permanent part;
        - ``users_threshold``: the users for the share above one threshold fixed in advance, within the same error,
          asked as a yes-no question; None for a mean;
        - ``users_listed``: the users for any share of few answers within the same error, asked as a choice.
        """
        return {
            "mechanism": mechanism.name if mechanism in self._usual else f"{mechanism.name}-mean",
            "aim": "mean" if self.rank is None else f"p{100 * self.rank:g}",
            "steps": mechanism.cells - 1,
            "points": mechanism.size,
            "truth": float(mechanism.p),
            "users_least": self._least_users(mechanism.epsilon),
            "users_threshold": self._threshold(mechanism.epsilon),
            "users_listed": self._listed(mechanism.epsilon),
        }

    def _least_users(self, epsilon: float) -> int | None:
        if self.rank is not None or self.permanent_epsilon is not None:
            return None
        ends = np.array([0.5, *[0.0] * 15, 0.5])  # half of all people at each end add 1/4 to the noise
        spread = least_variance(epsilon, ends) + 1 / 4
        return users_for(lambda users: self.quantile * np.sqrt(spread / users), self.error)

    def _threshold(self, epsilon: float) -> int | None:
        return None if self.rank is None else self._share_users(
            RandomizedResponse.calibrate(2, epsilon, self.permanent_epsilon), self.rank
        )  # fmt: skip

    def _listed(self, epsilon: float) -> int | None:
        if self.size is None or self.size > _FEW_VALUES:
            return None
        return self._share_users(choose(self.size, epsilon, self.permanent_epsilon), None)

    def _share_users(self, mechanism: Mechanism, share: float | None) -> int | None:
        return users_for(lambda users: half_width(mechanism, users, self.confidence, share), self.error)

    def more_columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        """Return the columns of the mechanism's steps."""
        least = [] if rows[0]["users_least"] is None else [value("users_least", "≈ least users", ",")]
        return [value("steps", "steps"), value("truth", "P[true]", ".4f"), *least]

    def odds(self, mechanism: Mechanism) -> str:
        """Return what a report reveals, in words for the person who is asked."""
        return numeric_odds_sentence(mechanism)

    def notes(self, rows: Sequence[Row]) -> list[str]:
        """Return advice on when another kind of question is better."""
        lines, last = [], rows[-1]
        at = f"At ε = {last['asked']:g}"
        threshold, needed = last["users_threshold"], last["users_needed"]
        if self.rank is not None and needed is None:
            nearest = float(self.margin(self.mechanisms(last["asked"])[0], np.array([MAX_USERS]))[0])
            lines.append(f"{at} no interval reaches less than ± {percent(nearest)}: to a step of the grid beside it.")
        if threshold is not None and (needed is None or threshold < needed):
            rather = "more than there can be" if needed is None else f"{needed:,}"
            lines.append(
                f"If a threshold is known beforehand, ask yes or no (type boolean). {at} the share above it takes "
                f"{counted(threshold, 'user')} rather than {rather}."
            )
        if last["users_listed"] is not None:
            lines.append(
                f"If there are only {self.size} answers, list them (type choice). {at} the share of each, "
                f"± {percent(self.error)}, takes {counted(last['users_listed'], 'user')}, and the quantiles follow."
            )
        return lines


def _even(law: Dithered, users: int) -> Tally:
    """Return the expected tally of answers that are uniform over the range; its end points get half as many."""
    at = np.full(law.points, 1 / (law.points - 1))
    at[[0, -1]] /= 2
    positions = law.floor + law.spread(at)
    reports = np.full(law.phases, max(round(users / law.phases), 1))
    below = np.cumsum(positions.reshape(law.steps + 1, law.phases)[:, ::-1].T, axis=1) * reports[:, np.newaxis]
    return Tally(reports, np.diff(np.rint(below).astype(np.int64), axis=1, prepend=0))


def _worst_variance(mechanism: NumericMechanism) -> float:
    """Return n·Var of the mean for the answers that make it largest, in squares of the range.

    The noise of the answers x and 1 - x has the same variance V(x), and n·Var is concave in the distribution of
    answers. So a symmetric distribution, with mean 1/2, is the worst: n·Var is the mean of V(x) + (x - 1/2)², which is
    largest if all answers have the same distance from 1/2.
    """
    points = range(mechanism.size // 2 + 1)
    last = mechanism.size - 1
    return max(float(mechanism.mean_variance(point)) + (point / last - 1 / 2) ** 2 for point in points)
