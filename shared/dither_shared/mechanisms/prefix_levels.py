"""The levels of a discovery: the length of prefix that each level reports, and its share of the users.

A discovery grows prefixes: the first level tries all of them, each further level tries every extension of the ``KEPT``
best, and a confirming level, of other users, tests the remaining strings. A level that tries m candidates for each that
it keeps passes those that stand out by z standard errors, where z is the upper 1/m quantile of the normal law; so that
no level is the bottleneck, its share of the users is proportional to (z + 1)². The confirming level has z =
``CONFIRMING``.

Shares decide which level a device draws, and they are part of a metric's version: they are computed in decimal
arithmetic, which is the same everywhere, and rounded to multiples of 1/``WEIGHT``.
"""

from bisect import bisect_left
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from ..errors import ParameterError

KEPT = 500
"""Prefixes that a level passes on."""

WEIGHT = 1 << 16
"""The sum of all weights."""

LONGEST = 64
"""Maximum number of symbols in a string."""

MOST_CHARACTERS = 254
"""Maximum number of characters in an alphabet: with the end and the mark of a string, they are the values of a byte."""

_FIRST, _STEP, _MOST = 1 << 17, 1 << 9, 1 << 22
"""Preferred number of candidates of the first level, and of a further level per prefix; and the maximum of a level."""

_MOST_LEVELS = 32
CONFIRMING = Fraction(31, 10)
"""z of the confirming level."""

_GRID = 1024
_ROOT_OF_2_PI = Decimal("2.506628274631000502415765284811045253007")


@lru_cache(maxsize=64)
def prefix_lengths(characters: int, length: int) -> tuple[int, ...]:
    """Return the prefix length of each level except the confirming one, for strings of at most ``length`` symbols.

    The first level has as many symbols as make 2^17 candidates at most, and further ones add as many as make 512 of
    each. Raises ParameterError if that would take more than 32 levels, and longer steps more than 2^22 candidates.
    """
    first = min(length, _most_symbols(characters, _FIRST))
    step = _most_symbols(characters, _STEP)
    while (length - first) > step * (_MOST_LEVELS - 1):
        step += 1
    if KEPT * _extensions(characters, step) > _MOST:
        most = first + _most_symbols(characters, _MOST // KEPT) * (_MOST_LEVELS - 1)
        raise ParameterError("length", f"{length} is too long for {characters} characters; {most} at most")
    return (*range(first, length, step), length)


def level_weights(characters: int, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the weights of the levels over ``WEIGHT``; the last one is that of the confirming level."""
    first, *others = lengths
    tried = [Fraction(_extensions(characters, first), KEPT)]
    tried += [Fraction(_extensions(characters, to - start)) for start, to in zip(lengths, others, strict=False)]
    shares = [(quantile + 1) ** 2 for quantile in (*map(_upper_quantile, tried), CONFIRMING)]
    ends = [round(WEIGHT * sum(shares[: place + 1]) / sum(shares)) for place in range(len(shares))]
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))


def _extensions(characters: int, symbols: int) -> int:
    """Return the number of continuations of a prefix by ``symbols`` symbols; after the end of a string there is one."""
    return sum(characters**more for more in range(symbols + 1))


def _most_symbols(characters: int, candidates: int) -> int:
    """Return how many symbols add at most this number of candidates; at least 1."""
    symbols = 1
    while symbols < LONGEST and _extensions(characters, symbols + 1) <= candidates:
        symbols += 1
    return symbols


@lru_cache(maxsize=64)
def _upper_quantile(odds: Fraction) -> Fraction:
    """Return the least z >= 0, on a grid of 1/1024, beyond which less than 1/``odds`` of the normal law lies."""
    context = Context(prec=40, rounding=ROUND_HALF_EVEN)
    most = context.divide(Decimal(odds.denominator), Decimal(odds.numerator))
    return Fraction(bisect_left(range(8 * _GRID), True, key=lambda place: _upper_tail(place, context) < most), _GRID)


def _upper_tail(place: int, context: Context) -> Decimal:
    """Return 1 - Φ(z) = 1/2 - φ(z) (z + z³/3 + z⁵/(3·5) + …) at z = place/1024."""
    z = context.divide(Decimal(place), Decimal(_GRID))
    square = context.multiply(z, z)
    term = total = z
    odd = 1
    while term > total.scaleb(-40, context):
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    density = context.divide(context.exp(context.divide(-square, Decimal(2))), _ROOT_OF_2_PI)
    return context.subtract(Decimal("0.5"), context.multiply(density, total))
