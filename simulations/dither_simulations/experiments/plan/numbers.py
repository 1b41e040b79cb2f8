"""Plan a question for a number: how many users a mean takes, or a quantile, at each ε."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from dither_server.estimation.confidence import require_confidence
from dither_server.estimation.numeric.laws.dithered import Dithered
from dither_server.estimation.numeric.laws.registry import law_of
from dither_shared import ParameterError, RandomizedResponse
from dither_shared.counted import counted
from dither_shared.mechanisms.auto import choose
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.privacy.wording import MEMOISATION, numeric_odds_sentence

from ...output.tables import render
from ...trials.mechanism_by_name import named_numeric
from ...trials.number_theory import least_variance
from .advice import ADDING_UP
from .least_epsilon import least_reached

FEW_VALUES = 16
"""Of no more different answers a list tells more than a grid."""

_EVEN = 1 / 12
"""The variance of answers that are even over the range, in squares of the range."""


@dataclass(frozen=True)
class NumberQuestion:
    """What is wanted: with ``rank`` None the mean within ± ``error`` of the range, else a quantile.

    The quantile of share ``rank`` is wanted within ± ``error`` in rank: 0.02 if the point named may have from 93 to 97%
    of the answers below it. It is named to ``within`` so much of the range, over which shares below are taken together.
    Answers are taken to be even over the range. ``values`` says how many different answers there can be, if few.
    Raises ParameterError for what is out of range.
    """

    rank: float | None = None
    error: float = 0.01
    within: float = 1 / 16
    permanent_epsilon: float | None = None
    users: int | None = None
    confidence: float = 0.95
    days: int = 30
    values: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise ParameterError("error", f"{self.error!r} must lie strictly between 0 and 1")
        if not 0 < self.within <= 1:
            raise ParameterError("within", f"{self.within!r} must lie between 0 and 1")
        require_confidence(self.confidence)

    @property
    def aim(self) -> str:
        """The mean, or a quantile such as p95."""
        return "mean" if self.rank is None else f"p{100 * self.rank:g}"

    @property
    def scale(self) -> float:
        """Users for each unit of variance: z²/error²."""
        return (NormalDist().inv_cdf((1 + self.confidence) / 2) / self.error) ** 2

    @cached_property
    def wanted(self) -> str:
        """The aim in words."""
        if self.rank is None:
            return f"mean ± {_percent(self.error)} of the range"
        return f"{self.aim} ± {_percent(self.error)} in rank, within {_percent(self.within)} of the range"


@dataclass(frozen=True)
class NumberChoice:
    """What an ε costs and tells.

    - ``steps``, ``points``, ``truth``: of the dithered response: cells less 1, points of the grid, P[the true cell];
    - ``users_needed``: for the aim; ``users_least``: by the best unbiased mechanism there can be, to 1%, for a mean;
    - ``users_threshold``: for the share above one threshold that is fixed beforehand, within the same error, asked as a
      yes or no; None for a mean;
    - ``users_listed``: for the share of each of few answers within the same error, asked as a choice;
    - ``margin``: the error that the users there are reach; ``epsilon_days``: the loss of a report on each of ``days``.
    """

    mechanism: str
    aim: str
    epsilon: float
    steps: int
    points: int
    truth: float
    report_bytes: int
    users_needed: int
    users_least: int | None
    users_threshold: int | None
    users_listed: int | None
    margin: float | None
    reached: bool | None
    days: int
    epsilon_days: float
    epsilon_forever: float | None


def users_for(question: NumberQuestion, mechanism: NumericMechanism) -> int:
    """Return how many users the aim takes: z²·variance/error², the variance being that of one user's part."""
    return math.ceil(question.scale * _variance(question, mechanism))


def _variance(question: NumberQuestion, mechanism: NumericMechanism) -> float:
    """Return n·Var of the mean of even answers, or of the share below the place of a quantile.

    Of a mean V + Var x. Of a share, from all cuts within ρ of the range about the place: σ(1-σ)/(λ² m ρ), where
    σ = q j + λ t and j is the mean over these cuts of the number of cells below (``Dithered.cuts``).
    """
    if question.rank is None:
        return float(mechanism.average_mean_variance) + _EVEN
    law = law_of(mechanism)
    if not isinstance(law, Dithered):
        raise ParameterError("mechanism", f"{mechanism.name} has no theory of quantiles; take dithered-response")
    last, half = law.points - 1, max(question.within * (law.points - 1) / 2, 0.5)
    cuts = np.arange(1, law.points)
    near = cuts[np.abs(cuts - question.rank * last) <= half]
    cells = float(np.mean(-(-near // law.phases)))
    chance = float(law.q) * cells + law.gap * question.rank
    return chance * (1 - chance) / (law.gap**2 * law.steps * max(question.within, 1 / last))


def advise_numbers(question: NumberQuestion, epsilons: Sequence[float]) -> list[NumberChoice]:
    """Return what each ε costs and tells, by each mechanism that fits the aim, the usual one first.

    Raises ParameterError for an ε that no mechanism can have.
    """
    names = _USUAL if question.rank is not None else (*_USUAL, *_FOR_MEANS)
    return [_choice(question, name, epsilon) for epsilon in epsilons for name in names]


_USUAL, _FOR_MEANS = ("dithered-response",), ("dithered-response-mean",)


def _choice(question: NumberQuestion, name: str, epsilon: float) -> NumberChoice:
    mechanism = named_numeric(name, epsilon, question.permanent_epsilon)
    needed, users = users_for(question, mechanism), question.users
    return NumberChoice(
        mechanism=name,
        aim=question.aim,
        epsilon=epsilon,
        steps=mechanism.cells - 1,
        points=mechanism.size,
        truth=float(mechanism.p),
        report_bytes=mechanism.row_bytes,
        users_needed=needed,
        users_least=_least(question, epsilon),
        users_threshold=_threshold(question, epsilon),
        users_listed=_listed(question, epsilon),
        margin=None if users is None else question.error * math.sqrt(needed / users),
        reached=None if users is None else users >= needed,
        days=question.days,
        epsilon_days=mechanism.epsilon_after(question.days),
        epsilon_forever=mechanism.permanent_epsilon,
    )


def _least(question: NumberQuestion, epsilon: float) -> int | None:
    """Return the users of the best unbiased mean: of one report, so that none is told with a permanent part."""
    if question.rank is not None or question.permanent_epsilon is not None:
        return None
    even = np.full(65, 1 / 64)
    even[[0, -1]] /= 2
    return math.ceil(question.scale * (least_variance(epsilon, even) + _EVEN))


def _threshold(question: NumberQuestion, epsilon: float) -> int | None:
    if question.rank is None:
        return None
    coin = RandomizedResponse.calibrate(2, epsilon, question.permanent_epsilon)
    chance = float(coin.q + (coin.p - coin.q) * question.rank)
    return math.ceil(question.scale * chance * (1 - chance) / float(coin.p - coin.q) ** 2)


def _listed(question: NumberQuestion, epsilon: float) -> int | None:
    if question.values is None or question.values > FEW_VALUES:
        return None
    best = choose(question.values, epsilon, question.permanent_epsilon)
    share = 1 / question.values
    return math.ceil(question.scale * (best.variance(share) + share * (1 - share)))


def explain_numbers(question: NumberQuestion, choices: Sequence[NumberChoice]) -> str:
    """Return a table for a terminal, and when another question tells more."""
    header = ["ε", "mechanism", "steps", "P[true]", "bytes", "users"]
    header += ["≈ least"] if choices[0].users_least is not None else []
    header += ["± reached", "enough"] if question.users is not None else []
    header += [f"ε of {counted(question.days, 'day')}"] + ["for ever"] * (question.permanent_epsilon is not None)
    users = "" if question.users is None else f"{counted(question.users, 'user')}; "
    lines = [
        f"{users}wanted: {question.wanted} at {100 * question.confidence:.4g} %; answers even over the range",
        "",
        render(header, [_cells(question, choice) for choice in choices], words=2),
        "",
        *_answer(question),
        *_others(question, choices),
    ]
    lasting = question.permanent_epsilon is not None
    for epsilon in dict.fromkeys(choice.epsilon for choice in choices):
        mechanism = named_numeric(_USUAL[0], epsilon, question.permanent_epsilon)
        lines.append(f"  ε = {epsilon:g}, to a person: {numeric_odds_sentence(mechanism)}.")
    return "\n".join([*lines, MEMOISATION if lasting else ADDING_UP])


def _cells(question: NumberQuestion, choice: NumberChoice) -> list[str]:
    cells = [f"{choice.epsilon:g}", choice.mechanism, f"{choice.steps}", f"{choice.truth:.4f}"]
    cells += [f"{choice.report_bytes}", f"{choice.users_needed:,}"]
    cells += [f"{choice.users_least:,}"] if choice.users_least is not None else []
    if choice.margin is not None:
        cells += [_percent(choice.margin), "yes" if choice.reached else "no"]
    cells.append(f"{choice.epsilon_days:.4g}")
    return cells + ([] if choice.epsilon_forever is None else [f"{choice.epsilon_forever:.4g}"])


def _answer(question: NumberQuestion) -> list[str]:
    """Return what ε the users suffice for, if their number is known."""
    users = question.users
    if users is None:
        return ["Give the number of users (-n) to find the least ε that will do."]
    least = least_reached(
        lambda epsilon: users >= users_for(question, named_numeric(_USUAL[0], epsilon, question.permanent_epsilon)),
        question.permanent_epsilon,
    )
    if least is None:
        return [f"No: {counted(users, 'user')} cannot do it at any ε of a report."]
    return [f"Yes: with {counted(users, 'user')} ε = {least:g} is the least that will do."]


def _others(question: NumberQuestion, choices: Sequence[NumberChoice]) -> list[str]:
    """Return when to ask another question."""
    lines = []
    one = choices[-1]
    if one.users_threshold is not None and one.users_threshold < one.users_needed:
        lines.append(
            f"A threshold that is known beforehand: ask yes or no (type boolean). At ε = {one.epsilon:g} the share "
            f"above it takes {counted(one.users_threshold, 'user')} rather than {one.users_needed:,}."
        )
    if one.users_listed is not None:
        lines.append(
            f"Only {question.values} different answers: list them (type choice). At ε = {one.epsilon:g} the share of "
            f"each, ± {_percent(question.error)}, takes {counted(one.users_listed, 'user')}, and the quantiles follow."
        )
    return lines


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"
