"""Sketches of prefixes, used to find strings that nobody listed."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from statistics import NormalDist
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import MAX_COUNTERS, SPELLED, Item, Items, Mechanism
from ..primitives.buckets import MAX_LEVELS, bucket_digest
from ..primitives.entropy import Entropy
from .checks import bytes_of, checked_count, checked_epsilons
from .prefix_levels import CONFIRMING, LONGEST, MOST_CHARACTERS, WEIGHT, level_weights, prefix_lengths
from .projective_sketch import MOST_COUNTERS, ROWS, ProjectiveBuckets, best_space

_LEAST_CELLS = 1 << 15
"""Cells that a row may have even if many levels then exceed ``MOST_COUNTERS``."""


_FINE, _FAR = 10_000, 3.0
"""The number of grid points, and the end of the range, for the search of the least detectable share."""


@dataclass(frozen=True, kw_only=True)
class PrefixSketch(ProjectiveBuckets):
    """A device reports one prefix of its string, of public length, as ``ProjectiveSketch`` reports a string.

    An item has a byte for each symbol, as many as the last of ``levels``. Level j of the cohorts reports the first
    ``levels[j]`` of them, and one more level, the confirming one, reports all of them with its own hash functions.
    Cohort level·R + row is drawn with probability ``weights[level]``/2^16/R, independently of the value, so all of ε
    goes to one report (the prefix extending method of Wang, Li and Jha, TDSC 2019, with an optimal oracle, and levels
    weighted as ``prefix_levels`` says). p, q and n·Var are those of a prefix among the reports of its level.
    """

    name: ClassVar[str] = "prefix-sketch"
    items: ClassVar[Items] = SPELLED
    promised: ClassVar[frozenset[str]] = frozenset({"characters", "length"})

    levels: tuple[int, ...]
    weights: tuple[int, ...]
    _ends: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lengths, weights = tuple(self.levels), tuple(self.weights)
        if not 1 <= len(lengths) < MAX_LEVELS or any(one >= two for one, two in pairwise((0, *lengths))):
            raise ParameterError("levels", f"{lengths}: must be lengths of prefixes in ascending order")
        if len(weights) != len(lengths) + 1 or min(weights) < 1 or sum(weights) != WEIGHT:
            raise ParameterError("weights", f"{weights} are not {len(lengths) + 1} positive shares of {WEIGHT}")
        self._derive(levels=lengths, weights=weights, _ends=tuple(accumulate(weights)))
        self._derive_law(len(weights) * self.rows)

    @classmethod
    def calibrate(
        cls,
        size: int | None,
        epsilon: float,
        permanent_epsilon: float | None = None,
        *,
        characters: int = 39,
        length: int = 12,
        buckets: int | None = None,
    ) -> Self:
        """Return the mechanism for strings of up to ``length`` of this many ``characters``, at both ε.

        The field and, if not given, the number of buckets minimize n·Var, where doubling the buckets counts as 3% and
        doubling the cells as 1%; a tally has at most 2^20 counters, or at most 2^15 per row.
        """
        if size is not None:
            raise ParameterError("size", f"{cls.name} takes any string of an alphabet; it has no list of answers")
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        checked_count(characters, "alphabet", 1, MOST_CHARACTERS)
        lengths = prefix_lengths(characters, checked_count(length, "length", 1, LONGEST))
        weights = level_weights(characters, lengths)
        usual = max(MOST_COUNTERS // (ROWS * len(weights)), _LEAST_CELLS)
        space = best_space(once, buckets, usual if buckets is None else MAX_COUNTERS // (ROWS * len(weights)))
        inside, permanent_inside = space.insides(once, forever)
        return cls(
            rows=ROWS,
            buckets=space.buckets,
            order=space.order,
            inside=inside,
            permanent_inside=permanent_inside,
            levels=lengths,
            weights=weights,
        )

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for the given ε and ``buckets``, and strings of ``characters`` and ``length``."""
        numbers = cls._with_epsilon(parameters)
        shape = {
            key: checked_count(numbers[key], key, 1, 1 << 16)
            for key in ("characters", "length", "buckets")
            if key in numbers
        }
        return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), **shape)

    @classmethod
    def require(cls, mechanism: Mechanism, place: str) -> "PrefixSketch":
        """Return ``mechanism`` if it is a prefix sketch; otherwise raise ParameterError for that ``place``."""
        if not isinstance(mechanism, cls):
            raise ParameterError(place, f"{mechanism.name} finds no strings by itself; {cls.name} does")
        return mechanism

    @property
    def integers(self) -> Mapping[str, object]:
        """Those of every such sketch, the symbols that each level reports (the confirming one last), the weights."""
        return {**super().integers, "lengths": [*self.levels, self.levels[-1]], "weights": [*self.weights]}

    @property
    def confirming(self) -> int:
        """The number of the confirming level, which is the last."""
        return len(self.levels)

    @property
    def cohort_law(self) -> tuple[Fraction, ...]:
        """The weights, each shared by the rows of its level."""
        return tuple(Fraction(weight, WEIGHT * self.rows) for weight in self.weights for _ in range(self.rows))

    def draw_cohort(self, entropy: Entropy) -> int:
        """Return a level by its weight, and a row."""
        row, place = divmod(entropy.below(self.rows * WEIGHT), WEIGHT)
        return bisect_right(self._ends, place) * self.rows + row

    def prefix_length(self, cohort: int) -> int:
        """Return how many symbols a cohort reports."""
        return self.levels[min(cohort // self.rows, self.confirming - 1)]

    def least_share(self, users: int) -> float:
        """Return the share of ``users`` who must hold a string for it to be found about half the time.

        This holds if the string is rare and the users are many. A level with a share w of them passes it with
        probability Φ(f √(w n/V) - z), where V is the variance of a rare string; f is the share at which all levels pass
        it with probability 1/2. What the levels pass follows from their weights, which are proportional to (z + 1)².
        """
        margin = (float(CONFIRMING) + 1) / math.sqrt(self.weights[-1])
        bars = [margin * math.sqrt(weight) for weight in self.weights]
        normal = NormalDist()

        def passes(stretch: float) -> bool:
            return math.prod(normal.cdf(stretch * bar - (bar - 1)) for bar in bars) > 0.5

        stretch = bisect_left(range(_FINE), True, key=lambda place: passes(place / _FINE * _FAR)) / _FINE * _FAR
        return stretch * margin * math.sqrt(self.variance() * WEIGHT / users)

    def prefix(self, item: Item, level: int) -> bytes:
        """Return the part of an item that a level reports: its first symbols or, at the confirming level, all."""
        whole = bytes_of(item)
        return whole if level == self.confirming else whole[: self.levels[level]]

    def digest(self, item: Item, level: int) -> bytes:
        """Return the digest of the prefix that a level reports."""
        return bucket_digest(self.prefix(item, level), level)
