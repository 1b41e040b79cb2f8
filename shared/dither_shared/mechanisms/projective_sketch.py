"""A sketch for strings that are listed later: two public rows of buckets, reported by projective geometry response."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import STRINGS, Item, Items
from ..primitives.buckets import bucket_digest
from .checks import bytes_of, checked_count, checked_epsilons
from .projective_buckets import MOST_COUNTERS, ProjectiveBuckets, best_space, checked_buckets

_ROWS = 2
_USUAL_BUCKETS = 1 << 16


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
        cls, size: int | None, epsilon: float, permanent_epsilon: float | None = None, *, buckets: int = _USUAL_BUCKETS
    ) -> Self:
        """Return the mechanism with ε₁ <= ``epsilon`` and, if reports repeat a draw, ε∞ <= ``permanent_epsilon``."""
        if size is not None:
            raise ParameterError("size", f"{cls.name} takes any string; it has no list of answers")
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        space = best_space(once, checked_buckets(buckets), MOST_COUNTERS // _ROWS)
        inside, permanent_inside = space.insides(once, forever)
        return cls(rows=_ROWS, buckets=buckets, order=space.order, inside=inside, permanent_inside=permanent_inside)

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for both ε and ``buckets``."""
        numbers = cls._with_epsilon(parameters)
        shape = {key: checked_count(numbers[key], key, 2, 1 << 16) for key in ("buckets",) if key in numbers}
        return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), **shape)

    def digest(self, item: Item, level: int = 0) -> bytes:
        """Return the digest of a value (its UTF-8 bytes); there is one level."""
        return bucket_digest(bytes_of(item), level)
