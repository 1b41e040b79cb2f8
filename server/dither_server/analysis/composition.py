"""Compute the privacy loss of many reports of one person: the sum of their losses, or less if a small δ is allowed.

The least valid ε is that of the optimal composition. Whatever mechanisms with privacy losses ε_1, …, ε_k one person
answers, and however later questions depend on earlier answers, together they are (ε, δ)-private for

    δ(ε) = E[ (1 - e^(ε - L))_+ ],    L = ±ε_1 ± … ± ε_k, each sign + with probability e^ε_i / (1 + e^ε_i),

because randomized response simulates each of them, and attains the bound (Kairouz, Oh and Viswanath 2015, theorem 3.3
for equal losses; Murtagh and Vadhan 2016, theorem 1.5 for others). L is the privacy loss.

No bound here is below the true value, by construction:

- probabilities are integers over a power of ten, rounded up; the omitted upper tail counts as an infinite loss, and the
  omitted lower tail as the least loss that is kept: δ(ε) grows with the probability of each loss, and with L;
- the total loss of reports with equal ε follows a binomial law, and sums of such losses lie on a lattice. If the losses
  have a common divisor, it is the step of the lattice, and rounding is not needed; otherwise the loss of each part is
  rounded up to the lattice, which adds at most one step per part, whatever its number of reports;
- sums of losses are exact convolutions of integers. δ(ε) is solved for ε with a logarithm that is rounded up.
"""

import decimal
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dither_shared import ParameterError
from dither_shared.primitives.probability import exp_above, exp_below, float_above, log_above

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 10**30), Fraction(10_000)
"""The range of a positive ε of a part, small enough for amplified reports and large enough for groups of people."""

MOST_REPORTS = 10**9

LEAST_DELTA = Fraction(1, 10**30)
"""The least δ that is not 0."""

_GUARD = 15
"""Decimal digits of probabilities beyond the first digit of δ: rounding contributes at most 1e-8 of δ."""

_SPARE = 8
"""Further digits of the weights from which probabilities are computed."""

_POINTS = 1 << 16
"""Approximate maximum number of lattice points: the computation takes two seconds for 20 parts."""


@dataclass(frozen=True)
class Part:
    """``reports`` reports of one person, each (ε, δ)-private by itself. Questions may depend on earlier reports.

    Their number, ε and δ must be fixed before the first report: adaptive stopping needs another theorem. Raises
    ParameterError for an ε that is neither 0 nor from ``LEAST_EPSILON`` to ``MOST_EPSILON``, a δ outside [0, 1), or a
    number of reports that is not from 1 to ``MOST_REPORTS``.
    """

    epsilon: Fraction
    reports: int = 1
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon and not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise ParameterError(
                "epsilon", f"{float(self.epsilon):g} is not from {float(LEAST_EPSILON):g} to {int(MOST_EPSILON):,}"
            )
        if not 1 <= self.reports <= MOST_REPORTS:
            raise ParameterError("reports", f"{self.reports} is not from 1 to {MOST_REPORTS:,}")
        if not 0 <= self.delta < 1:
            raise ParameterError(
                "delta", f"{float(self.delta):.3g} is not in [0, 1); a δ of 1 or more promises nothing"
            )

    @property
    def total(self) -> Fraction:
        """The sum of ε over its reports."""
        return self.reports * self.epsilon

    @property
    def total_delta(self) -> Fraction:
        """The sum of δ over its reports."""
        return self.reports * self.delta

    def of_group(self, people: int) -> "Part":
        """Return this part's loss for a group of ``people`` whose answers all depend on one secret.

        Group privacy (Dwork and Roth 2014, theorem 2.2; with δ, Vadhan 2017, lemma 2.2, before it is simplified): ε
        becomes people · ε and δ becomes δ · (1 + e^ε + … + e^((people - 1) ε)), rounded up.
        Raises ParameterError for no people, or if ε or δ of the group is out of range.
        """
        if people < 1:
            raise ParameterError("people", f"{people} is not a positive number")
        pure = Part(people * self.epsilon, self.reports)
        if not self.delta:
            return pure
        series = Fraction(people)
        if self.epsilon:
            series = (exp_above(pure.epsilon) - 1) / (exp_below(self.epsilon) - 1)
        return Part(pure.epsilon, self.reports, self.delta * series)


def optimal(parts: Iterable[Part], delta: Fraction) -> float:
    """Return the least ε such that all reports of ``parts`` together are (ε, ``delta``)-private, rounded up.

    The δ of the parts is added: together they are (ε, delta + Σ total_delta)-private. The result is at most the sum of
    all ε, and equals it for a ``delta`` of 0. If all ε are multiples of a number that is not too small, as decimal
    fractions are, the result is optimal up to a relative error of 1e-8 in δ. Otherwise each part may add one step of a
    lattice of 65,536 points, together a few thousandths for three questions over a year. Raises ParameterError for a
    delta that is neither 0 nor from ``LEAST_DELTA`` to below 1.
    """
    if delta and not LEAST_DELTA <= delta < 1:
        raise ParameterError("delta", f"{float(delta):g} is neither 0 nor from {float(LEAST_DELTA):g} to below 1")
    reports: Counter[Fraction] = Counter()
    total = Fraction(0)
    for part in parts:
        total += part.total
        if part.epsilon:
            reports[part.epsilon] += part.reports
    if not delta or not reports:
        return float_above(total)
    digits = _GUARD + math.ceil(-math.log10(delta))
    laws = [_binomial(epsilon, count, digits) for epsilon, count in reports.items()]
    step = _step(laws)
    waiting = deque(law.rounded_up(step) for law in laws)
    while len(waiting) > 1:
        waiting.append(_sum(waiting.popleft(), waiting.popleft(), digits))
    (law,) = waiting
    return float_above(_least(law, delta, digits))


@dataclass(frozen=True)
class _Loss:
    """A law of the privacy losses ``top``, ``top - step``, …: upper bounds of their ``masses``, over 10^digits.

    ``beyond`` bounds the mass of all losses above ``top``.
    """

    top: Fraction
    step: Fraction
    masses: list[int]
    beyond: int

    def rounded_up(self, step: Fraction) -> "_Loss":
        """Return the law on a finer or coarser lattice, with each loss rounded up to it."""
        ratio = self.step / step
        places = [index * ratio.numerator // ratio.denominator for index in range(len(self.masses))]
        masses = [0] * (places[-1] + 1)
        for place, mass in zip(places, self.masses, strict=True):
            masses[place] += mass
        return _Loss(self.top, step, masses, self.beyond)


def _step(laws: Sequence[_Loss]) -> Fraction:
    """Return the common divisor of the steps, or the least step that ``_POINTS`` allow if the divisor is smaller."""
    common = math.lcm(*(law.step.denominator for law in laws))
    exact = Fraction(math.gcd(*(int(law.step * common) for law in laws)), common)
    width = sum((law.step * len(law.masses) for law in laws), Fraction(0))
    return max(exact, width / _POINTS)


def _binomial(epsilon: Fraction, reports: int, digits: int) -> _Loss:
    """Return the law of the loss of ``reports`` randomized responses: reports · ε minus 2 ε for each false one.

    The number of false responses is Bin(reports, 1/(1 + e^ε)). Weights are computed from the mean outwards by their
    ratios, which are at most 1 after the first, and rounded down; after n steps the error is below 3 n. With this error
    added, and divided by the sum of the kept weights, which is less than the sum of all, they are upper bounds.
    """
    odds = exp_below(-epsilon)
    mean = math.floor(reports * odds / (1 + odds))
    start, unit, fine = 10 ** (digits + _SPARE), 10**digits, 10 ** (2 * digits + 2 * _SPARE)
    rare, often = math.floor(odds * fine), math.floor(exp_below(epsilon) * fine)
    more = _outward(start, (((reports - lies) * rare, (lies + 1) * fine) for lies in range(mean, reports)))
    fewer = _outward(start, ((lies * often, (reports - lies + 1) * fine) for lies in range(mean, 0, -1)))
    weights = [*reversed(fewer), start, *more]
    error, kept = 3 * len(weights), sum(weights)
    masses = [-(-(weight + error) * unit // kept) for weight in weights]
    least, most = mean - len(fewer), mean + len(more)
    left_out = _LEFT_OUT + error
    masses[-1] += -(-(reports - most) * left_out * unit // kept)
    return _Loss((reports - 2 * least) * epsilon, 2 * epsilon, masses, -(-least * left_out * unit // kept))


_LEFT_OUT = 10 ** (_SPARE - 1)
"""Weights below this, a tenth of a unit, are left out."""


def _outward(start: int, ratios: Iterable[tuple[int, int]]) -> list[int]:
    """Return the cumulative products of ``start`` and the ratios, rounded down, until they are small enough to omit."""
    products = []
    weight = start
    for over, under in ratios:
        weight = weight * over // under
        if weight < _LEFT_OUT:
            break
        products.append(weight)
    return products


def _sum(one: _Loss, two: _Loss, digits: int) -> _Loss:
    """Return the law of the sum of two independent losses on one lattice."""
    unit = 10**digits
    masses = [-(-mass // unit) for mass in _convolved(one.masses, two.masses)]
    return _Loss(one.top + two.top, one.step, masses, one.beyond + two.beyond)


_EXACT = decimal.Context(
    decimal.MAX_PREC, decimal.ROUND_HALF_EVEN, decimal.MIN_EMIN, decimal.MAX_EMAX, 1, 0, [], [decimal.Inexact]
)


def _convolved(one: Sequence[int], two: Sequence[int]) -> Iterator[int]:
    """Yield the convolution of two sequences of non-negative integers, exactly.

    The terms become digits of two numbers, spaced such that the digits of the product are the convolution (Kronecker
    substitution). Decimal multiplies numbers of millions of digits by a number-theoretic transform, in a second.
    """
    width = len(str(max(one) * max(two) * min(len(one), len(two))))
    first, second = (Decimal("".join(f"{number:0{width}d}" for number in row)) for row in (one, two))
    count = len(one) + len(two) - 1
    text = str(_EXACT.multiply(first, second)).zfill(count * width)
    return (int(text[place : place + width]) for place in range(0, count * width, width))


def _least(loss: _Loss, delta: Fraction, digits: int) -> Fraction:
    """Return the least ε >= 0 with δ(ε) <= delta, rounded up; it is at most ``top``.

    From the top down, ``mass`` is P[L >= level] and ``faded`` is E[e^(level - L); L >= level], rounded down, so δ(ε) =
    mass - e^(ε - level) · faded down to the next level.
    """
    allowed = math.floor(delta * 10**digits) - loss.beyond
    fine = 10 ** (2 * digits)
    fade = math.floor(exp_below(-loss.step) * fine)
    positive = math.ceil(loss.top / loss.step)
    mass = faded = index = 0
    for index in range(min(positive, len(loss.masses))):
        mass += loss.masses[index]
        faded = faded * fade // fine + loss.masses[index]
        if mass - faded * fade // fine > allowed:
            break
    if mass <= allowed:
        return Fraction(0)
    level = loss.top - index * loss.step
    return max(Fraction(0), level - loss.step, level + log_above(Fraction(mass - allowed, faded)))


def advanced(parts: Iterable[Part], delta: Fraction) -> float:
    """Return the ε of all reports with ``delta`` by the advanced composition theorem, rounded up.

        sqrt(2 ln(1/delta) Σ ε²) + Σ ε (e^ε - 1)

    over all reports (Dwork and Roth 2014, theorem 3.20; for unequal ε it follows from theorem 3.5 of Kairouz, Oh and
    Viswanath 2015). It is often above the sum, and above ``optimal``. The shorthand ε sqrt(8 k ln(1/delta)) of
    corollary 3.21 holds only up to 1: at ε = 1, delta = 1e-6 it is false from k = 206 on. The result is infinite if it
    exceeds every float. Raises ParameterError for a delta that is not strictly between 0 and 1.
    """
    if not 0 < delta < 1:
        raise ParameterError("delta", f"{float(delta):g} is not strictly between 0 and 1")
    squares = drift = Fraction(0)
    for part in parts:
        squares += part.total * part.epsilon
        drift += part.total * (exp_above(part.epsilon) - 1)
    return float_above(_root_above(2 * log_above(1 / delta) * squares) + drift)


def _root_above(square: Fraction) -> Fraction:
    """Return a rational number that exceeds the square root by less than 10^-60."""
    fine = 10**60
    return Fraction(math.isqrt(math.floor(square * fine * fine)) + 1, fine) if square else Fraction(0)


_FORGIVEN = Decimal("1e-12")


def rounded_up(number: float, digits: int) -> str:
    """Return a number of at least 0 with ``digits`` significant digits, rounded up.

    A relative 10^-12 is ignored, so that 0.1, whose nearest float is above it, is not shown as 0.100001.
    """
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    found = context.create_decimal(Decimal(number) * (1 - _FORGIVEN)).normalize(context)
    return f"{found:f}" if -4 <= found.adjusted() < digits else f"{found:e}"
