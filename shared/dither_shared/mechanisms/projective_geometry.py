"""Projective geometry response: one symbol, a point of a projective space, from the hyperplane that the value owns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import MAX_CELLS, Item, Mechanism
from ..primitives.channel import OwnedChannel, TwoLevel
from ..primitives.entropy import Entropy
from ..primitives.galois import field_integers, prime_power, prime_powers
from ..primitives.probability import checked_epsilon, threshold_text
from ..primitives.projective import Points, point_count, point_length
from ..rows import Shape
from .checks import checked_size, index_of


@dataclass(frozen=True, kw_only=True)
class ProjectiveGeometry(Mechanism):
    """Projective geometry response (PGR; Feldman, Nelson, Nguyen and Talwar, ICML 2022, arXiv 2203.00194).

    Values and reports are points of PG(t-1, q), of which there are K = (q^t - 1)/(q - 1) >= k (numbered as in
    ``galois.Field.point``). Value v owns the c = (q^(t-1) - 1)/(q - 1) points u with ⟨u, v⟩ = 0; two values share
    c' = (q^(t-2) - 1)/(q - 1) of them, whichever they are. An owned point is reported with probability ``inside`` =
    c e^ε/(c e^ε + K - c), uniformly on its side:

        p = inside,   q = p c'/c + (1-p)(c - c')/(K - c),

    a pure protocol close to the least risk there is if the field's order is near e^ε + 1. ``calibrate`` takes the
    prime power with the least total risk over those with K up to 2^20; the padding of k to K costs little.
    """

    name: ClassVar[str] = "projective-geometry"

    size: int
    order: int
    inside: Fraction
    _points: Points = field(init=False, repr=False)
    _threshold: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size, order = checked_size(self.size), self.order
        if prime_power(order) is None:
            raise ParameterError("order", f"{order} is not a prime power, such as 2, 3, 4, 5, 7, 8 or 9")
        points = Points(order, point_length(order, size))
        if points.count > MAX_CELLS:
            raise ParameterError("order", f"{order} makes {points.count} points for {size} values; {MAX_CELLS} at most")
        channel = OwnedChannel.checked(self.inside, points.owned, points.count)
        self._derive(
            shape=Shape.SYMBOL,
            inside=channel.inside,
            cells=points.count,
            a=channel.high,
            b=channel.low,
            p=channel.inside,
            q=channel.high * points.shared + channel.low * (points.owned - points.shared),
            ratio=channel.ratio,
            _points=points,
            _threshold=channel.threshold,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the mechanism whose field has the least total risk."""
        size = checked_size(size)
        loss = checked_epsilon(epsilon)
        odds = exp(loss)
        orders = [q for q in prime_powers(max(size, 7)) if point_count(q, point_length(q, size)) <= MAX_CELLS]
        if not orders:
            raise ParameterError("order", f"no finite field has at most {MAX_CELLS} points for {size} values")
        order = min(orders, key=lambda q: _risk(size, q, odds))
        length = point_length(order, size)
        return cls(
            size=size,
            order=order,
            inside=OwnedChannel.at(loss, point_count(order, length - 1), point_count(order, length)).inside,
        )

    @property
    def marks(self) -> int:
        """The points of a hyperplane."""
        return self._points.owned

    @property
    def max_size(self) -> int:
        """Every point can stand for a value."""
        return self.cells

    @property
    def joint_support(self) -> tuple[Fraction, Fraction]:
        """Two values share c' points; a third owns all of these if it is on their line, and c'' of them if not."""
        order, points, shared = self.order, self.cells, self._points.shared
        of_three, on_line = point_count(order, max(0, self._points.length - 3)), order - 1
        all_three = Fraction(on_line * shared + (points - 2 - on_line) * of_three, points - 2)
        return self.a * shared, self.a * all_three + self.b * (shared - all_three)

    @property
    def two_level(self) -> TwoLevel:
        """A value owns a hyperplane; points 0, 1 and 2 are on one line, so each owns what the other two share."""
        points, third = self._points, Fraction(0) if self.size > 2 else None
        share, overlap = Fraction(points.owned, points.count), Fraction(points.shared, points.count)
        return TwoLevel(self.ratio, share, overlap, third)

    @property
    def integers(self) -> Mapping[str, object]:
        """The probability of an owned point, the field, and the entries of a point."""
        return {"inside": threshold_text(self.inside), **field_integers(self.order, self._points.length)}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the hyperplane of the item; O(cells)."""
        return self._points.hyperplane(index_of(item, self.size))

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return a point on the hyperplane or off it: O(t)."""
        return self.row_format.symbol(self._points.draw(index_of(item, self.size), self._threshold, entropy))


def _risk(size: int, order: int, odds: float) -> float:
    """Return the total risk k·V(0) + V(1) - V(0) of one report; used only to choose."""
    length = point_length(order, size)
    points, owned, shared = (point_count(order, length - less) for less in range(3))
    total = (odds - 1) * owned + points
    p, q = odds * owned / total, ((odds - 1) * shared + owned) / total
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
