"""Bound the ε of shuffled reports for any mechanism: of one report among those of others, in random order.

If every report has a privacy loss of at most ε₀, then each of the other n - 1 is, with probability e^-ε₀, a clone of
the report in question: drawn as if its sender held one of the two values to be distinguished, each with probability 1/2
(Feldman, McMillan and Talwar, FOCS 2021, arXiv 2012.12803, theorem 3.1). The observer then sees only how many of C + 1
tokens are of the first kind, C ~ Bin(n - 1, e^-ε₀), and the token in question is of that kind with probability a =
e^ε₀/(e^ε₀ + 1) or 1 - a. With E = e^ε and i the least whole number above (C + 1) (E e^ε₀ - 1)/((e^ε₀ - 1)(1 + E)),

    δ_C = (a - E (1-a)) P[Bin(C, 1/2) = i - 1] - (E - 1) P[Bin(C, 1/2) >= i],     δ(ε) = E δ_C.

The result is an upper bound. δ_C falls with C, because adding a fair token is post-processing. So the range of C is
divided into blocks, each with the δ_C of its least C; the law of C is replaced by one that is stochastically smaller;
the lower tail counts as C = 0. A millionth of δ covers the rounding of floats.

Several reports of one device, each drawn afresh, are changed one after the other (group privacy; Dwork and Roth 2014,
theorem 2.2, with δ): if one is (ε, δ)-private, then ``own`` of them are together

    (own ε, δ (1 + e^ε + ... + e^((own-1)ε)))-private,

and the same holds if they lie in several batches: there the ε have the same sum, and the δ at most this one. Two
reports of one batch attain the bound: they do not compose like reports of two batches, whose bound is lower.

The refined theorem of 2023 (arXiv 2208.04591, before its erratum) and the variation ratio (arXiv 2304.05007) claim
smaller bounds, which are false for randomized response of three or more answers.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import scipy

from dither_shared import ParameterError
from dither_shared.primitives.probability import float_above

from . import MOST_OWN, MOST_REPORTS

LEAST_DELTA = 1e-30

MARGIN = 1 + 1e-6
"""Factor on every δ, so that rounding of floats does not make it too small."""

_MOST_BLOCKS = 1024
"""Maximum number of blocks that are wider than one count."""

_WIDE, _LEFT_OUT = 13, 1e-30
"""Standard deviations, plus as many counts, that are divided into blocks; and a bound of the rest (Chernoff)."""


def generic_epsilon(epsilon: float, reports: int, delta: float, own: int = 1) -> float:
    """Return an ε such that any mechanism of privacy loss ``epsilon`` is (ε, ``delta``)-private among ``reports``.

    ``reports`` is the number of honest reports of a batch, including those in question. The bound holds for ``own``
    reports of one device together, in one batch or in several of ``reports`` each. It is at most ``own`` times
    ``epsilon``, and 0 if ``delta`` exceeds the total variation distance. Raises ParameterError as ``checked_shuffle``
    does.
    """
    checked_shuffle(epsilon, reports, delta, own)
    clones = max(1.0, (reports - 1) * math.exp(-epsilon))
    guess = math.tanh(epsilon / 2) * 2 * math.sqrt(-2 * math.log(delta) / clones)
    return group_epsilon(lambda loss: generic_delta(epsilon, reports, loss), epsilon, delta, guess, own)


def generic_delta(epsilon: float, reports: int, after: float) -> float:
    """Return a δ such that any mechanism of privacy loss ``epsilon`` is (``after``, δ)-private among ``reports``."""
    if after >= epsilon:
        return 0.0
    clone_chance, all_but = math.exp(-epsilon), -math.expm1(-epsilon)
    odds, more = math.exp(after), math.expm1(after)
    # a - E (1-a) and the bar of i/(C+1), divided by e^ε₀ above and below, so that no ε₀ overflows
    gain = (1 - clone_chance * odds) / (1 + clone_chance)
    bar = (odds - clone_chance) / (all_but * (1 + odds))
    total = 0.0
    for clones, mass in clone_blocks(reports - 1, epsilon):
        total += mass * _of_clones(clones, gain, more, bar)
    return min(1.0, MARGIN * total)


def group_delta(delta: float, epsilon: float, own: int) -> float:
    """Return δ (1 + e^ε + ... + e^((own-1)ε)), the δ of ``own`` reports that are each (ε, δ)-private; it may exceed 1.

    By group privacy they are together (own ε, this δ)-private.
    """
    if own == 1 or not delta or not epsilon:
        return own * delta
    if own * epsilon > _HUGE:
        return math.inf
    return delta * (math.expm1(own * epsilon) / math.expm1(epsilon)) * MARGIN


_HUGE = 700.0
"""The exponential function of a larger number overflows."""


def group_epsilon(delta_of: Callable[[float], float], most: float, delta: float, guess: float, own: int) -> float:
    """Return an ε of ``own`` reports with ``delta``: ``own`` times the ε of one report, from its δ, rounded up.

    The other arguments are those of ``least_epsilon``.
    """
    single = least_epsilon(lambda loss: group_delta(delta_of(loss), loss, own), most, delta, guess)
    return float_above(own * Fraction(single))


def least_epsilon(delta_of: Callable[[float], float], most: float, delta: float, guess: float) -> float:
    """Return an ε with delta_of(ε) <= delta, within a relative 1e-5 of one that violates this; otherwise ``most``.

    ``delta_of`` decreases, except for small steps; the returned ε was evaluated, or is ``most``. The search begins at a
    ``guess`` and is regula falsi in log δ, by the Illinois rule (Dowell and Jarratt 1971).
    """

    def above(epsilon: float) -> float:
        delta_there = delta_of(epsilon)
        return math.log(delta_there / delta) if delta_there > 0 else -math.inf

    if above(0.0) <= 0:
        return 0.0
    low = high = min(guess, most / 2)
    start = short = over = above(low)
    while short <= 0:
        high, over, low = low, short, low / 2
        short = above(low)
    while start > 0 and over > 0:
        low, short, high = high, over, min(2 * high, most)
        over = above(high) if high < most else -math.inf
    return _between(above, (low, short), (high, over))


def _between(above: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return the root of ``above``, positive at ``low`` and not at ``high``, from above, to a relative 1e-5."""
    (left, up), (right, down) = low, high
    kept = 0
    while right - left > 1e-5 * right:
        share = up / (up - down) if down > -_STEEP and abs(kept) < _STUCK else 0.5
        middle = left + min(max(share, 1e-2), 1 - 1e-2) * (right - left)
        excess = above(middle)
        if excess > 0:
            left, up, kept = middle, excess, max(kept, 0) + 1
            down = down / 2 if kept > 1 else down
        else:
            right, down, kept = middle, excess, min(kept, 0) - 1
            up = up / 2 if kept < -1 else up
    return right


_STEEP, _STUCK = 60.0, 4
"""An interval is bisected if log δ is off by more than the first number, or after this many steps on one side."""


def checked_shuffle(epsilon: float, reports: int, delta: float, own: int = 1) -> None:
    """Raise ParameterError for a loss that is not positive and finite, no or too many reports, or an invalid δ."""
    if not 1 <= own <= MOST_OWN:
        raise ParameterError("own", f"{own} reports of one device; there must be from 1 to {MOST_OWN:,}")
    if not 0 < epsilon < math.inf:
        raise ParameterError("epsilon", f"{epsilon!r} is not a positive number")
    if not 1 <= reports <= MOST_REPORTS:
        raise ParameterError("reports", f"{reports} honest reports; there must be from 1 to {MOST_REPORTS:,}")
    if not LEAST_DELTA <= delta < 1:
        raise ParameterError("delta", f"{delta!r} is not from {LEAST_DELTA:g} to below 1")


@lru_cache(maxsize=8)
def clone_blocks(others: int, epsilon: float, fine: float = 4e-4) -> tuple[tuple[int, float], ...]:
    """Return blocks of C ~ Bin(``others``, e^-``epsilon``): the least C of each, and its probability.

    The law of the blocks is stochastically smaller than that of C. A block has the width ``fine`` times the mean of C,
    or 1.
    """
    share = math.exp(-epsilon)
    mean = others * share
    deviation = math.sqrt(mean * -math.expm1(-epsilon))
    first = max(0, math.floor(mean - _WIDE * deviation))
    last = min(others, math.ceil(mean + _WIDE * deviation) + _WIDE)
    step = max(1, math.ceil(fine * mean), math.ceil(2 * _WIDE * deviation / _MOST_BLOCKS))
    if step == 1:
        return (*_each(first, last, others, share), (0, _LEFT_OUT if first else 0.0))
    edges = range(first, last + 1, step)
    scores = [_score(edge, others, share) for edge in edges]
    inner = zip(edges[:-1], scores[:-1], scores[1:], strict=True)
    blocks = [(edge, _normal(one, two)) for edge, one, two in inner]
    return ((0, _normal(-math.inf, scores[0])), *blocks, (edges[-1], _normal(scores[-1], math.inf)))


def _each(first: int, last: int, trials: int, share: float) -> Iterator[tuple[int, float]]:
    """Yield each count with its probability given the range, an upper bound of the true one, from the mode outwards."""
    odds = share / (1 - share)
    mode = min(max(first, math.floor((trials + 1) * share)), last)
    up = accumulate(range(mode, last), lambda mass, k: mass * odds * (trials - k) / (k + 1), initial=1.0)
    down = accumulate(range(mode, first, -1), lambda mass, k: mass / odds * k / (trials - k + 1), initial=1.0)
    masses = {mode + place: mass for place, mass in enumerate(up)}
    masses |= {mode - place: mass for place, mass in enumerate(down)}
    kept = math.fsum(masses.values())
    return ((count, mass / kept) for count, mass in masses.items())


def _score(count: int, trials: int, share: float) -> float:
    """Return a z for which P[Bin(trials, share) < count] <= Φ(z) (Zubkov and Serov 2013, arXiv 1207.3838).

    That is ±sqrt(2 n D(count/n || share)). A law with this distribution function is stochastically smaller.
    """
    if not count:
        return -math.inf
    part, beyond = count / trials, (count - trials * share) / trials
    distance = part * math.log1p(beyond / share)
    if count < trials:
        distance += (1 - part) * math.log1p(-beyond / (1 - share))
    return math.copysign(math.sqrt(2 * trials * max(distance, 0.0)), beyond)


def _normal(low: float, high: float) -> float:
    """Return the probability of the normal law between two scores."""
    if low > 0:
        low, high = -high, -low
    return (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2))) / 2


def _of_clones(clones: int, gain: float, more: float, bar: float) -> float:
    """Return δ_C of ``clones`` fair tokens: ``gain`` is a - E (1-a), ``more`` is E - 1, i is above ``bar`` (C+1)."""
    first = min(math.floor(bar * (clones + 1)), clones)  # i - 1
    delta = gain * _fair(clones, first)
    if more and first < clones:
        delta -= more * float(scipy.special.betainc(first + 1, clones - first, 0.5))  # P[Bin(C, 1/2) > i - 1]
    return max(0.0, delta)


def _fair(coins: int, heads: int) -> float:
    """Return P[Bin(coins, 1/2) = heads], to 10^-11 of it: exactly, or by Loader's saddle-point expansion (2000)."""
    if coins <= _EXACT:
        return math.comb(coins, heads) / (1 << coins)
    tails = coins - heads
    if not heads or not tails:
        return math.exp(-coins * math.log(2))
    lean = (heads - tails) / coins
    if abs(lean) < 0.1:
        bent = sum(lean ** (2 * j) / (j * (2 * j - 1)) for j in range(1, 9))
    else:
        bent = (1 + lean) * math.log1p(lean) + (1 - lean) * math.log1p(-lean)
    error = _stirling_error(coins) - _stirling_error(heads) - _stirling_error(tails)
    return math.sqrt(coins / (2 * math.pi * heads * tails)) * math.exp(error - coins / 2 * bent)


_EXACT = 1000


def _stirling_error(n: int) -> float:
    """Return ln n! - ln(sqrt(2 π n) (n/e)^n), n > 0."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - math.log(2 * math.pi) / 2
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * n * n)) / (n * n)) / (n * n)) / n
