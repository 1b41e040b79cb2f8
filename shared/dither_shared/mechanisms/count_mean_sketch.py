"""Apple's sketches: a value of any kind is hashed to one of m columns by one of many public hash functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import MAX_COUNTERS, STRINGS, Item, Items, Mechanism
from ..primitives.bloom import bloom_positions
from ..primitives.channel import BitChain, BitChannel, OwnedChannel, TwoLevel
from ..primitives.entropy import Entropy
from ..primitives.probability import ONE, as_probability, checked_epsilon, exp_below, threshold_down, toward
from ..rows import Shape
from .chained import ChainOfBits, two_level_bits
from .checks import bytes_of, checked_count

_HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class Sketch(Mechanism):
    """The base of both sketches: an open domain, and ``cohorts`` hash functions onto ``bits`` columns.

    Two values share their column in one function of m, so q is an average over hash functions. With the functions
    fixed, the estimate of v carries a bias of variance Σ_(u≠v) f_u² / (cohorts · (m - 1)) that more reports do not
    remove; the server adds it to the standard error. A complete family (``local-hashing``) has no such bias, but
    needs a listed domain.
    """

    items: ClassVar[Items] = STRINGS
    hashes: ClassVar[int] = 1
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "bits", "cohorts"})

    size: None = field(init=False, default=None)
    cohorts: int = 1024
    bits: int = 256

    def _check_shape(self) -> None:
        checked_count(self.cohorts, "cohorts", 1, 1 << 16)
        checked_count(self.bits, "bits", 2, 1 << 16)
        if 2 * self.bits * self.cohorts > MAX_COUNTERS:
            raise ParameterError("bits", f"{self.bits} in {self.cohorts} cohorts make too large a table of counters")

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for the given ``epsilon``, ``bits`` and ``cohorts``."""
        numbers = cls._with_epsilon(parameters)
        shape = {key: checked_count(numbers[key], key, 1, 1 << 16) for key in ("bits", "cohorts") if key in numbers}
        return cls._shaped(size, numbers["epsilon"], **shape)

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the mechanism of default shape."""
        return cls._shaped(size, epsilon)

    @classmethod
    def _shaped(cls, size: int | None, epsilon: float, **shape: int) -> Self:
        raise NotImplementedError

    @property
    def collision_variance(self) -> float:
        """The variance of the bias over the choice of hash functions, per Σ_(u≠v) f_u²."""
        return 1 / (self.cohorts * (self.bits - 1))

    @property
    def collision_cube(self) -> float:
        """The third central moment of the bias, per Σ_(u≠v) f_u³."""
        return (self.bits - 2) / ((self.bits - 1) * self.cohorts) ** 2

    @property
    def integers(self) -> Mapping[str, object]:
        """Raise ParameterError, because columns are drawn by SHAKE-256."""
        raise ParameterError(
            "mechanism",
            f"{self.name} needs SHAKE-256, which browsers lack; leave mechanism out, for a sketch that uses SHA-256",
        )

    def column(self, item: Item, cohort: int) -> int:
        """Return the column of a value (its UTF-8 bytes) under hash function ``cohort``."""
        return bloom_positions(bytes_of(item), cohort, self.bits, 1)[0]


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Sketch, ChainOfBits):
    """Count mean sketch (CMS; Apple Differential Privacy Team 2017).

    The m bits, of which the value's column is 1, are each kept with s/(s+1), s = e^(ε/2):

        p = s/(s+1),   q = p/m + (1-p)(1-1/m),   n·Var = (m/(m-1))² (s/(s-1)² + (1-f)(1-1/m)/m)

    plus the bias of ``Sketch``. ``keep`` is rounded to a multiple of 2^-64 toward 1/2.
    """

    name: ClassVar[str] = "count-mean-sketch"

    keep: Fraction

    def __post_init__(self) -> None:
        self._check_shape()
        keep = toward(_HALF, as_probability(self.keep, "keep"))
        if not _HALF < keep < 1:
            raise ParameterError("keep", f"{float(keep):g} must lie between 1/2 (no information) and 1 (no privacy)")
        chain = BitChain(BitChannel(keep, 1 - keep))
        self._derive(
            shape=Shape.BITS,
            keep=keep,
            cells=self.bits,
            a=keep,
            b=1 - keep,
            p=keep,
            q=keep / self.bits + (1 - keep) * (1 - Fraction(1, self.bits)),
            ratio=chain.ratio_after(1),
            _chain=chain,
        )

    @classmethod
    def _shaped(cls, size: int | None, epsilon: float, **shape: int) -> Self:
        _check_open(size, cls.name)
        odds = exp_below(checked_epsilon(epsilon) / 2)
        return cls(keep=Fraction(threshold_down(odds / (odds + 1)), ONE), **shape)

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a value owns the rows in which its column is 1."""
        return two_level_bits(self.ratio, self.b, 2)

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the value's column."""
        return (self.column(item, cohort),)


@dataclass(frozen=True, kw_only=True)
class HadamardCountMeanSketch(Sketch):
    """Hadamard count mean sketch (HCMS; Apple Differential Privacy Team 2017): one bit of the transformed row.

    A row l of the m x m Sylvester matrix is drawn uniformly, and its entry at the value's column is reported with
    the right sign with probability ``inside`` = e^ε/(e^ε + 1). The symbol is 2l for +1, 2l + 1 for -1; a value owns the
    half of the symbols that have its sign, and two values of different columns share half of these:

        p = inside,   q = p/m + (1 - 1/m)/2,   n·Var = (m/(m-1))² (((e^ε+1)/(e^ε-1))² - 1/m² - f(1-1/m²))

    plus the bias of ``Sketch``. m (``bits``) is a power of 2.
    """

    name: ClassVar[str] = "hadamard-count-mean-sketch"

    inside: Fraction
    _threshold: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check_shape()
        if self.bits & (self.bits - 1):
            raise ParameterError("bits", f"{self.bits} is not a power of 2")
        channel = OwnedChannel.checked(self.inside, 1, 2)
        share = Fraction(1, self.bits)
        self._derive(
            shape=Shape.SYMBOL,
            inside=channel.inside,
            cells=2 * self.bits,
            a=channel.high * share,
            b=channel.low * share,
            p=channel.inside,
            q=channel.inside * share + (1 - share) / 2,
            ratio=channel.ratio,
            _threshold=channel.threshold,
        )

    @classmethod
    def _shaped(cls, size: int | None, epsilon: float, **shape: int) -> Self:
        _check_open(size, cls.name)
        return cls(inside=OwnedChannel.at(checked_epsilon(epsilon), 1, 2).inside, **shape)

    @property
    def marks(self) -> int:
        """The number of rows, because a value marks one symbol in each."""
        return self.bits

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a value owns half of the symbols; values of different columns share half of these."""
        return TwoLevel(self.ratio, Fraction(1, 2), Fraction(1, 4))

    @property
    def uniform_cells(self) -> tuple[int, int]:
        """The rows, one of which each report draws: two symbols per row."""
        return 0, 2

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the symbols whose sign is the value's; one for each row."""
        column = self.column(item, cohort)
        return tuple(2 * row + ((row & column).bit_count() & 1) for row in range(self.bits))

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return a row and the sign of the value's entry in it, or the wrong sign."""
        row = entropy.below(self.bits)
        wrong = not entropy.bernoulli(self._threshold)
        return self.row_format.symbol(2 * row + ((row & self.column(item, cohort)).bit_count() & 1 ^ wrong))


def _check_open(size: int | None, name: str) -> None:
    if size is not None:
        raise ParameterError("size", f"{name} takes any string; it has no list of answers")
