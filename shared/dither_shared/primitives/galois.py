"""Finite fields GF(q), and the projective points over them; part of the wire format, fixed for ever.

Elements are the integers 0 … q-1. In a prime field they add and multiply modulo q. In GF(p^m) the base-p digits of an
element are the coefficients of a polynomial, least significant first, taken modulo the primitive polynomial of
degree m over GF(p) whose lower coefficients, read as a base-p number, are the least: x² = x+1 for 4, x³ = x+1 for 8,
x² = 2x+1 for 9.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, reduce
from operator import mul, xor

from ..errors import ParameterError

_LONGEST = 32
"""Maximum number of entries: more than a vector has in any table that fits into memory."""


def prime_power(order: int) -> tuple[int, int] | None:
    """Return (p, m) with order = p^m and p prime, or None if there is none."""
    if order < 2:
        return None
    prime = next((divisor for divisor in range(2, int(order**0.5) + 1) if order % divisor == 0), order)
    degree, rest = 0, order
    while rest % prime == 0:
        rest //= prime
        degree += 1
    return (prime, degree) if rest == 1 else None


@cache
def prime_powers(most: int) -> tuple[int, ...]:
    """Return every prime power up to ``most``, ascending."""
    sieve = bytearray([1]) * (most + 1)
    powers = []
    for number in range(2, most + 1):
        if not sieve[number]:
            continue
        sieve[number * number :: number] = bytes(len(range(number * number, most + 1, number)))
        power = number
        while power <= most:
            powers.append(power)
            power *= number
    return tuple(sorted(powers))


class Field:
    """Arithmetic in GF(order); raises ParameterError if the order is not a prime power."""

    def __init__(self, order: int) -> None:
        factors = prime_power(order)
        if factors is None:
            raise ParameterError("field", f"{order} is not a prime power")
        self.order = order
        self.characteristic, self.degree = factors
        # The first index of the points with 0, 1, 2, … entries after their leading 1.
        self._firsts: tuple[int, ...] = tuple((order**free - 1) // (order - 1) for free in range(_LONGEST))
        self.lower: int | None = None
        """L of the primitive polynomial x^m + L, as a base-p number; None for a prime field, which needs none."""
        self._exp: list[int] = []
        self._log: list[int] = []
        if self.degree > 1:
            self._tabulate()

    def add(self, one: int, two: int) -> int:
        """Return the sum of two elements."""
        if self.degree == 1:
            return (one + two) % self.order
        if self.characteristic == 2:
            return one ^ two
        return self._digitwise(one, two)

    def negative(self, element: int) -> int:
        """Return the additive inverse of an element."""
        return self.multiply(self.characteristic - 1, element)

    def multiply(self, one: int, two: int) -> int:
        """Return the product of two elements."""
        if self.degree == 1:
            return one * two % self.order
        return self._exp[self._log[one] + self._log[two]] if one and two else 0

    def inverse(self, element: int) -> int:
        """Return the multiplicative inverse of an element that is not 0."""
        if self.degree == 1:
            return pow(element, -1, self.order)
        return self._exp[self.order - 1 - self._log[element]]

    def dot(self, one: Sequence[int], two: Sequence[int]) -> int:
        """Return the inner product of two vectors."""
        if self.degree == 1:
            total: int = sum(map(mul, one, two))
            return total % self.order
        exp, log = self._exp, self._log
        products = [exp[log[left] + log[right]] for left, right in zip(one, two, strict=True) if left and right]
        return reduce(xor if self.characteristic == 2 else self.add, products, 0)

    def digits(self, number: int, length: int) -> list[int]:
        """Return the vector whose entries are the base-q digits of a number, most significant first."""
        entries = [0] * length
        for place in range(length - 1, -1, -1):
            if not number:
                break
            number, entries[place] = divmod(number, self.order)
        return entries

    def point(self, index: int, length: int) -> list[int]:
        """Return the projective point of an index, as the vector of that length whose first non-zero entry is 1.

        Points are numbered by the base-q number that their entries make: with r entries behind the leading 1 and
        w the number that these make, the index is (q^r - 1)/(q - 1) + w.
        """
        free = bisect_right(self._firsts, index) - 1
        number: int = self.order**free + index - self._firsts[free]
        return self.digits(number, length)

    def point_index(self, vector: Sequence[int]) -> int:
        """Return the index of the projective point that a non-zero vector represents."""
        lead = next(place for place, entry in enumerate(vector) if entry)
        tail, scale = vector[lead + 1 :], vector[lead]
        if scale != 1:
            inverse = self.inverse(scale)
            tail = [self.multiply(inverse, entry) for entry in tail]
        number = 0
        for entry in tail:
            number = number * self.order + entry
        return self._firsts[len(tail)] + number

    def _tabulate(self) -> None:
        """Fill the tables of powers and logarithms of x, a generator of the multiplicative group."""
        for lower in range(self.order):
            powers = self._powers_of_x(lower)
            if len(powers) == self.order - 1:
                self.lower = lower
                self._exp = powers + powers
                self._log = [0] * self.order
                for exponent, element in enumerate(powers):
                    self._log[element] = exponent
                return

    def _powers_of_x(self, lower: int) -> list[int]:
        """Return 1, x, x², … up to the first 1 again, modulo x^m + the polynomial of ``lower``."""
        p, top = self.characteristic, self.order // self.characteristic
        powers, element = [1], p
        while element != 1 and len(powers) < self.order:
            powers.append(element)
            carry, element = element // top, element % top * p
            for _ in range(carry * (p - 1) % p):  # x^m = -lower, taken carry times
                element = self._digitwise(element, lower)
        return powers

    def _digitwise(self, one: int, two: int) -> int:
        total, place, p = 0, 1, self.characteristic
        while one or two:
            total += (one + two) % p * place
            one, two, place = one // p, two // p, place * p
        return total


@cache
def field(order: int) -> Field:
    """Return GF(order); it is made only once."""
    return Field(order)


def field_integers(order: int, length: int) -> dict[str, int | None]:
    """Return a field that suffices for vectors of GF(order) of this ``length``, without a search for polynomials."""
    return {"order": order, "lower": field(order).lower, "length": length}
