"""Sketches by projective geometry response: a string is hashed to a bucket, which is a point.

``ProjectiveBuckets`` is what sketches of strings that are listed later (``ProjectiveSketch``) and of prefixes
(``PrefixSketch``) have in common.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp
from typing import ClassVar, NamedTuple, Self

from ..errors import ParameterError
from ..mechanism import MAX_CELLS, STRINGS, Item, Items
from ..primitives.buckets import MAX_BUCKETS, MAX_ROWS, bucket_digest, bucket_in
from ..primitives.channel import OwnedChain, OwnedChannel, TwoLevel
from ..primitives.entropy import Entropy
from ..primitives.galois import field_integers, prime_power, prime_powers
from ..primitives.probability import ONE, threshold_down, threshold_text
from ..primitives.projective import Points, point_length
from ..rows import Shape
from .chained import Chained
from .checks import bytes_of, checked_count, checked_epsilons

MOST_COUNTERS = 1 << 20
"""Maximum number of counters in a chosen tally: 8 MiB."""

ROWS = 2
"""Rows of buckets of a sketch, each with its own hash function."""

_MOST_USUAL = 1 << 16
_USUAL_BUCKETS = (1 << 14, 1 << 15, _MOST_USUAL)

_LARGEST_ORDER = 1 << 8
"""The largest order; decoders hold multiplication tables of the field. Beyond ε = 6 a larger one would be better."""


@dataclass(frozen=True, kw_only=True)
class ProjectiveBuckets(Chained):
    """A public row hashes a string to one of B ``buckets``, and that is reported by projective geometry response.

    The bucket is a point of PG(t-1, q), with q = ``order`` and t the least for which there are K >= B points; it owns c
    of them. An owned point is reported with probability ``inside``, as by ``ProjectiveGeometry``. Another string is in
    the same bucket with probability 1/B over the choice of hash functions, so with the q of that mechanism as q₀

        p = inside,   q = p/B + (1 - 1/B) q₀.

    With the functions fixed, the estimate of v has a bias of variance Σ_(u≠v) f_u²/(R (B - 1)) over R ``rows``, which
    more reports do not remove.

    With a permanent part a point is drawn at ε∞ once for each bucket, and a report repeats it with probability
    κ = (inside - c/K)/(``permanent_inside`` - c/K), or else is any point, uniformly: one report has the law of
    ``inside`` all the same, so a permanent part costs no accuracy. All probabilities are rounded to multiples of 2^-64,
    ``inside`` and κ down.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon", "buckets"})

    size: None = field(init=False, default=None)
    rows: int = 2
    buckets: int
    order: int
    inside: Fraction
    permanent_inside: Fraction | None = None
    _points: Points = field(init=False, repr=False)
    _instant: OwnedChannel = field(init=False, repr=False)
    _chain: OwnedChain | None = field(init=False, repr=False)

    def _derive_law(self, cohorts: int) -> None:
        """Check the fields, and set what follows from them."""
        checked_count(self.rows, "rows", 1, MAX_ROWS)
        points = Space(self.order, checked_buckets(self.buckets)).points
        instant = OwnedChannel.checked(self.inside, points.owned, points.count)
        chain = None if self.permanent_inside is None else _chain(instant, self.permanent_inside)
        whole = instant if chain is None else chain.whole
        share = Fraction(1, self.buckets)
        apart = points.shared * whole.high + (points.owned - points.shared) * whole.low
        self._derive(
            shape=Shape.SYMBOL,
            cohorts=cohorts,
            cells=points.count,
            inside=instant.inside,
            permanent_inside=None if chain is None else chain.permanent.inside,
            a=whole.high,
            b=whole.low,
            p=whole.inside,
            q=share * whole.inside + (1 - share) * apart,
            ratio=whole.ratio,
            permanent_ratio=None if chain is None else chain.permanent_ratio,
            _points=points,
            _instant=instant,
            _chain=chain,
        )

    @abstractmethod
    def digest(self, item: Item, level: int) -> bytes:
        """Return the digest whose words are the buckets of ``item`` in the rows of a level."""

    def bucket(self, item: Item, cohort: int = 0) -> int:
        """Return the bucket of ``item`` in ``cohort``, which is level·R + row."""
        level, row = divmod(cohort, self.rows)
        return bucket_in(self.digest(item, level), row, self.buckets)

    @property
    def length(self) -> int:
        """t: the number of entries of a point."""
        return self._points.length

    @property
    def marks(self) -> int:
        """The points of a hyperplane."""
        return self._points.owned

    @property
    def collision_variance(self) -> float:
        """The variance of the bias over the choice of hash functions, per Σ_(u≠v) f_u²."""
        return 1 / (self.rows * (self.buckets - 1))

    @property
    def collision_cube(self) -> float:
        """The third central moment of the bias, per Σ_(u≠v) f_u³."""
        return (self.buckets - 2) / ((self.buckets - 1) * self.rows) ** 2

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value."""
        return self.ratio**reports if self._chain is None else self._chain.ratio_after(reports)

    @property
    def two_level(self) -> TwoLevel:
        """A value owns a hyperplane in each cohort; two values share most if they are in the same bucket."""
        points = self._points
        share, overlap = Fraction(points.owned, points.count), Fraction(points.shared, points.count)
        return TwoLevel(self.ratio, share, overlap)

    @property
    def integers(self) -> Mapping[str, object]:
        """The probability of an owned point, the field, the entries of a point, the rows and their buckets."""
        return {
            "inside": threshold_text(self.inside),
            **field_integers(self.order, self.length),
            "rows": self.rows,
            "buckets": self.buckets,
        }

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the hyperplane of the bucket; O(cells)."""
        return self._points.hyperplane(self.bucket(item, cohort))

    def permanent_key(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the bucket."""
        return (self.bucket(item, cohort),)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent point of a bucket; without a permanent part, the bucket."""
        (bucket,) = key
        return bucket if self._chain is None else self._points.draw(bucket, self._chain.permanent.threshold, entropy)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the permanent point, or any point; without a permanent part, one that the bucket owns, or another."""
        if self._chain is None:
            return self.row_format.symbol(self._points.draw(drawn, self._instant.threshold, entropy))
        kept = entropy.bernoulli(self._chain.threshold)
        return self.row_format.symbol(drawn if kept else entropy.below(self.cells))


@dataclass(frozen=True, kw_only=True)
class ProjectiveSketch(ProjectiveBuckets):
    """Count mean sketch (Apple Differential Privacy Team 2017) whose rows are reported by projective geometry response.

    The cohort is the row, drawn uniformly; ``primitives/buckets.py`` says which bucket a string has in it. Candidates
    need not be known when devices report: estimating one takes ``rows`` look-ups. Instead of a bit for each bucket, a
    report is one point of 2 or 3 bytes, and its n·Var is near 4e^ε/(e^ε - 1)², the minimum.

    ``calibrate`` takes the field with the least n·Var, where doubling the cells counts as 1%.
    """

    name: ClassVar[str] = "projective-count-mean-sketch"
    items: ClassVar[Items] = STRINGS

    def __post_init__(self) -> None:
        self._derive_law(self.rows)

    @classmethod
    def calibrate(
        cls,
        size: int | None,
        epsilon: float,
        permanent_epsilon: float | None = None,
        *,
        buckets: int = _MOST_USUAL,
    ) -> Self:
        """Return the mechanism with ε₁ <= ``epsilon`` and, if reports repeat a draw, ε∞ <= ``permanent_epsilon``."""
        if size is not None:
            raise ParameterError("size", f"{cls.name} takes any string; it has no list of answers")
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        space = best_space(once, checked_buckets(buckets), MOST_COUNTERS // ROWS)
        inside, permanent_inside = space.insides(once, forever)
        return cls(rows=ROWS, buckets=buckets, order=space.order, inside=inside, permanent_inside=permanent_inside)

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for both ε and ``buckets``."""
        numbers = cls._with_epsilon(parameters)
        shape = {key: checked_count(numbers[key], key, 2, 1 << 16) for key in ("buckets",) if key in numbers}
        return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), **shape)

    def digest(self, item: Item, level: int) -> bytes:
        """Return the digest of a value (its UTF-8 bytes); there is one level."""
        return bucket_digest(bytes_of(item), level)


class Space(NamedTuple):
    """The order of a field, and how many buckets are points over it."""

    order: int
    buckets: int

    @property
    def points(self) -> Points:
        """The points; raises ParameterError if there is no such field, or there are too many points."""
        if prime_power(self.order) is None:
            raise ParameterError("order", f"{self.order} is not a prime power, such as 2, 3, 4, 5, 7, 8 or 9")
        points = Points(self.order, point_length(self.order, self.buckets))
        if points.count > MAX_CELLS:
            raise ParameterError("order", f"{self.order} makes {points.count} points; {MAX_CELLS} at most")
        return points

    def insides(self, epsilon: Fraction, permanent_epsilon: Fraction | None) -> tuple[Fraction, Fraction | None]:
        """Return ``inside`` and ``permanent_inside`` at both ε."""
        owned, count = self.points.owned, self.points.count
        forever = None if permanent_epsilon is None else OwnedChannel.at(permanent_epsilon, owned, count).inside
        return OwnedChannel.at(epsilon, owned, count).inside, forever

    def cost(self, odds: float) -> float:
        """Return n·Var of a rare string, where doubling the buckets counts as 3% of it and doubling the cells as 1%."""
        points = self.points
        total = (odds - 1) * points.owned + points.count
        p, apart = odds * points.owned / total, ((odds - 1) * points.shared + points.owned) / total
        q = p / self.buckets + (1 - 1 / self.buckets) * apart
        return float(q * (1 - q) / (p - q) ** 2 * points.count**0.0144 / self.buckets**0.0426)


def best_space(epsilon: Fraction, buckets: int | None, most_cells: int) -> Space:
    """Return the space of least cost for ε with at most ``most_cells`` cells and, if given, these ``buckets``."""
    odds = exp(epsilon)
    spaces = [
        space
        for each in (_USUAL_BUCKETS if buckets is None else (checked_buckets(buckets),))
        for space in _spaces(each, odds, most_cells)
    ]
    if not spaces:
        raise ParameterError("buckets", f"{buckets} are too many: a report has at most {most_cells} symbols here")
    return min(spaces, key=lambda space: space.cost(odds))


def checked_buckets(buckets: object) -> int:
    """Return ``buckets`` if they are a power of two in range; raise ParameterError otherwise."""
    count = checked_count(buckets, "buckets", 2, MAX_BUCKETS)
    if count & (count - 1):
        raise ParameterError("buckets", f"{count} is not a power of two")
    return count


def _spaces(buckets: int, odds: float, most_cells: int) -> Iterator[Space]:
    """Yield the spaces with this number of buckets; without limits the best order is near e^ε + 1."""
    for order in prime_powers(min(max(buckets, 7), int(8 * odds) + 8, _LARGEST_ORDER)):
        space = Space(order, buckets)
        if Points(order, point_length(order, buckets)).count <= min(most_cells, MAX_CELLS):
            yield space


def _chain(whole: OwnedChannel, permanent_inside: Fraction) -> OwnedChain:
    """Return the chain whose reports have the law ``whole``, or one that reveals slightly less."""
    chance = Fraction(whole.owned, whole.reports)
    first = OwnedChannel.checked(permanent_inside, whole.owned, whole.reports)
    if not whole.inside < first.inside:
        raise ParameterError(
            "permanent_inside", f"{float(first.inside):g} must exceed that of one report, {float(whole.inside):g}"
        )
    kept = (whole.inside - chance) / (first.inside - chance)
    return OwnedChain(first, Fraction(threshold_down(kept), ONE))
