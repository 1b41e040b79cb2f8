"""The one abstraction: a frequency mechanism whose output law is known exactly.

A public cohort, chosen independently of the value, determines the probability with which each cell of a row is
reported. Most mechanisms have two such probabilities: a value marks some cells, and a cell is reported with a if it is
marked and with b if it is not. So with n_c reports in cohort c and frequencies f,

    E[tally[c, j]] = n_c · Σ_v f_v · law(v, c)[j] = n_c · ( b + (a - b) · Σ_v f_v · [j ∈ marked(v, c)] ).

The randomizer is defined beside its law, in plain Python, because devices run it. What analyses ask of a law
(variances, bounds, cells that are reported alike) has a sound default here; a mechanism that knows more overrides it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from .encoding import Item as Item  # noqa: PLC0414 - what a mechanism randomizes
from .errors import ParameterError
from .light import cached_property
from .primitives.channel import TwoLevel
from .primitives.entropy import Entropy
from .primitives.probability import epsilon_of
from .rows import RowFormat, Shape


@dataclass(frozen=True)
class Items:
    """The kind of items that a mechanism takes, described by ``words``.

    ``open``: there is no list of them; ``sets``: an item is any set of the ``size`` values, so that shares do not add
    up to 1.
    """

    words: str
    open: bool = False
    sets: bool = False


LISTED = Items("listed answers")
"""Indices of a listed domain."""

NUMBERS = Items("numbers")
"""Points of an even grid over a range, numbered from 0, whose order that of the cells follows."""

SETS = Items("sets of listed answers", sets=True)
"""Sets of indices of a listed domain, as integers: bit j stands for index j."""

STRINGS = Items("any string", open=True)
"""The UTF-8 bytes of any string."""

SPELLED = Items("strings to discover, of an alphabet", open=True)
"""Strings of one length over an alphabet: one byte per symbol, its number."""


MAX_CELLS = 1 << 20
"""Maximum number of cells in a row; a wider row is a mistake in a definition."""

MAX_COUNTERS = 1 << 24
"""The largest tally, cohorts by cells: 128 MiB of counters."""


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A randomizer with its exact law.

    Derived fields (a subclass sets them once, when it is made; ``size`` is given):

    - ``shape``: how a payload is written, ``listed``: how many cells it lists, if it does;
    - ``cohorts``, ``cells``: the shape of its tally;
    - ``a``, ``b``: P[a cell is reported], if the value marks it and if it does not; as with p and q, a mechanism whose
      laws have more than two levels has none: its law is ``cell_law``;
    - ``p``, ``q``: P[a report supports v], if v is the user's value and if another is (Wang et al. 2017, "pure
      protocol"); for RAPPOR, which has no single support, those of one bit, a and b;
    - ``coverage``: P[a cohort covers v at all], 1 unless cohorts cover only parts of the domain;
    - ``ratio``: the worst case over outputs and pairs of inputs of P[y|x]/P[y|x'], for one report;
    - ``permanent_ratio``: the same for all the reports that a device will ever make of one value, or None if every
      report costs ``ratio`` again.
    """

    name: ClassVar[str]
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon"})
    """The parameters that a metric's definition may give for this mechanism."""
    promised: ClassVar[frozenset[str]] = frozenset()
    """Parameters that follow from the question (``Question.promises``), so that no definition gives them."""
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The ``keys`` whose parameters are words, with the possible words of each."""
    items: ClassVar[Items] = LISTED
    """The kind of item that it randomizes, which determines the kinds of question that it can answer."""
    pure: ClassVar[bool] = True
    """Whether a report supports a value or does not (p and q), so that frequencies follow from counts of support.

    If not, they are fitted to the cells by regression, and their errors come from the scatter between cohorts."""
    own_cells: ClassVar[bool] = False
    """Whether value v marks cell v and no other, in its only cohort."""
    independent_cells: ClassVar[bool] = False
    """Whether the cells of a report are reported independently of each other, given what the value marks."""
    always_memoised: ClassVar[bool] = False
    """Whether every mechanism of this family has a permanent draw, even without permanent_epsilon."""

    size: int | None
    shape: Shape = field(init=False, repr=False)
    listed: int = field(init=False, repr=False, default=0)
    cohorts: int = field(init=False, default=1)
    cells: int = field(init=False, repr=False)
    a: Fraction = field(init=False, repr=False, compare=False)
    b: Fraction = field(init=False, repr=False, compare=False)
    p: Fraction = field(init=False, repr=False, compare=False)
    q: Fraction = field(init=False, repr=False, compare=False)
    coverage: Fraction = field(init=False, repr=False, default=Fraction(1))
    ratio: Fraction = field(init=False, repr=False)
    permanent_ratio: Fraction | None = field(init=False, repr=False, default=None)
    delta: Fraction = field(init=False, repr=False, default=Fraction(0))

    @classmethod
    @abstractmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the best mechanism of this family whose exact privacy loss is at most ``epsilon``.

        Raises ParameterError if ``size`` or ``epsilon`` is out of range.
        """

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism that a definition's ``parameters`` (of ``keys``) ask for.

        Raises ParameterError, whose place is the parameter's key.
        """
        return cls.calibrate(size, **cls._with_epsilon(parameters))

    @classmethod
    def _with_epsilon(cls, parameters: Mapping[str, float | str]) -> dict[str, float]:
        """Return the numeric parameters; raise ParameterError unless epsilon is among them."""
        numbers = cls._numbers(parameters)
        if "epsilon" not in numbers:
            raise ParameterError("epsilon", "missing; the privacy loss of one report, for example epsilon = 1.0")
        return numbers

    @classmethod
    def _numbers(cls, parameters: Mapping[str, float | str]) -> dict[str, float]:
        """Return the parameters except ``words``; raise ParameterError if one of them is not a number."""
        for key, value in parameters.items():
            if isinstance(value, str) and key not in cls.words:
                raise ParameterError(key, f"{value!r} is not a number")
        return {key: value for key, value in parameters.items() if not isinstance(value, str)}

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report: the logarithm of ``ratio``, rounded up, computed on first access."""
        return epsilon_of(self.ratio)

    @cached_property
    def permanent_epsilon(self) -> float | None:
        """The privacy loss of all reports of one value together, likewise; None if every report adds to it."""
        return None if self.permanent_ratio is None else epsilon_of(self.permanent_ratio)

    @property
    def memoised(self) -> bool:
        """Whether a device draws once for each value and repeats that draw in all reports of the value."""
        return self.permanent_ratio is not None

    @property
    def permanent_draws(self) -> int | None:
        """The number of permanent draws that a device can have in its cohort; None if it is not known to be small."""
        return None

    @property
    def largest(self) -> int:
        """The maximum number of values in an item, if items are sets."""
        return self.size or 0

    @cached_property
    def permanent_stage(self) -> Self | None:
        """The mechanism whose reports are the permanent draws, without the noise of one report; None if there is none.

        Its parameter ``x`` is this mechanism's ``permanent_x``.
        """
        names = [f.name for f in fields(self) if f.init and f.name.startswith("permanent_")]
        alone: dict[str, Any] = {name.removeprefix("permanent_"): getattr(self, name) for name in names}
        if not names or None in alone.values():
            return None
        return replace(self, **alone | dict.fromkeys(names))

    @property
    def permanent_law(self) -> tuple[Fraction, Fraction] | None:
        """P[the permanent draw has a cell], if the value marks it and if it does not; None without a permanent draw."""
        stage = self.permanent_stage
        return None if stage is None else (stage.a, stage.b)

    @property
    def cohort_law(self) -> tuple[Fraction, ...] | None:
        """P[a report is of each cohort], chosen independently of the value; None if all are equally likely."""
        return None

    def draw_cohort(self, entropy: Entropy) -> int:
        """Draw a cohort by ``cohort_law``."""
        return entropy.below(self.cohorts) if self.cohorts > 1 else 0

    @abstractmethod
    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the cells that ``item`` marks in ``cohort``, without repetition."""

    def supporting(self, value: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the cells that support a value: a report has one with p if it is the user's value, else with q.

        The value is an item or, if items are sets, an index. None if the cohort does not cover it.
        """
        return self.marked(value, cohort)

    def cell_law(self, item: Item, cohort: int = 0) -> tuple[Fraction, ...]:
        """Return P[a report of ``item`` in ``cohort`` has cell j] for every j."""
        marked = frozenset(self.marked(item, cohort))
        return tuple(self.a if cell in marked else self.b for cell in range(self.cells))

    @abstractmethod
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the payload of one report of ``item``.

        ``permanent`` is the stream of the permanent draw, if the mechanism has one; without it, that draw, too, is
        taken from ``entropy``, which is right for a device that reports once.
        """

    def permanent_key(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the key of the permanent draw of ``item``: the marked cells, or the numbers that determine them.

        Values with the same key share their draw, and are charged as one.
        """
        return self.marked(item, cohort)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent draw of the values of a ``permanent_key``: the content of a payload, as an integer.

        That is a symbol, a row of bits with cell 0 lowest, or a list. Without a permanent part it has the marked cells.
        Only mechanisms whose reports are a chain of the two draws have it.
        """
        raise NotImplementedError(f"{self.name} has no permanent draw")

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the payload of one report of a value whose permanent draw is ``drawn``."""
        raise NotImplementedError(f"{self.name} has no permanent draw")

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value of one device."""
        return self.ratio**reports

    def epsilon_after(self, reports: int) -> float:
        """Return the privacy loss of ``reports`` reports of one value, rounded up: ε_T."""
        return epsilon_of(self.ratio_after(reports))

    @property
    def compiled(self) -> Mapping[str, object]:
        """The law of one report as JSON, for clients that calibrate nothing: its name, its rows, and ``integers``.

        Raises ParameterError if a report repeats a permanent draw, or if there are no ``integers``.
        """
        if self.memoised:
            place = "mechanism" if self.always_memoised else "permanent_epsilon"
            raise ParameterError(
                place,
                f"{self.name} repeats a permanent draw here; a browser whose storage is cleared loses the secret "
                f"behind it, would make a new draw and spend epsilon again; and browsers have no SHAKE-256, which "
                f"makes the draw; leave {place} out",
            )
        rows = {"shape": self.shape.value, "cohorts": self.cohorts, "cells": self.cells, "listed": self.listed}
        return {"mechanism": self.name, **rows, **self.integers}

    @property
    def integers(self) -> Mapping[str, object]:
        """The integers from which a device draws one report, beside the shape of rows; raises ParameterError if none.

        Thresholds over 2^64 are 16 hex digits (``probability.threshold_text``).
        """
        raise ParameterError(
            "mechanism",
            f"{self.name} cannot be compiled to a few integers; leave mechanism out, for the best one that can",
        )

    @cached_property
    def row_format(self) -> RowFormat:
        """The layout of its report rows."""
        return RowFormat(self.shape, self.cohorts, self.cells, self.listed)

    @property
    def stored_draws(self) -> tuple[object, ...] | None:
        """The arguments of ``draws.draws_of`` to draw the same reports without this mechanism; None if it cannot."""
        return None

    @property
    def payload_bytes(self) -> int:
        """The width of a payload."""
        return self.row_format.payload_bytes

    def row(self, cohort: int, payload: bytes) -> bytes:
        """Return the row of a cohort and a payload."""
        return self.row_format.encode(cohort, payload)

    @property
    def row_bytes(self) -> int:
        """The width of a report row: its cohort and its payload."""
        return self.row_format.row_bytes

    def parameters(self) -> dict[str, str]:
        """Return the exact parameters that determine the law, by name: the basis of a metric's version."""
        return {f.name: str(getattr(self, f.name)) for f in fields(self) if f.init}

    def variance(self, frequency: float = 0.0) -> float:
        """Return n · Var[estimate] of a value of that frequency, from noise alone (the histogram fixed).

        q(1-q)/(p-q)² + f·(1-p-q)/(p-q): Wang et al. 2017, equation 2 and its term in f. If only a share c < 1 of the
        reports covers the value, this is divided by c, and the choice of those users adds (1/c - 1)·f(1-f).
        """
        constant, slope, thinning = self._variance_terms
        return thinning * (constant + frequency * slope) + (thinning - 1) * frequency * (1 - frequency)

    @cached_property
    def _variance_terms(self) -> tuple[float, float, float]:
        gap = self.p - self.q
        return float(self.q * (1 - self.q) / gap**2), float((1 - self.p - self.q) / gap), float(1 / self.coverage)

    @property
    def marks(self) -> int:
        """The number of cells that a value marks in a cohort that covers it."""
        return 1

    @property
    def weight(self) -> int | None:
        """The number of cells in every report; None if it varies."""
        return {Shape.SYMBOL: 1, Shape.LIST: self.listed, Shape.BITS: None}[self.shape]

    @property
    def weight_moments(self) -> tuple[float, float] | None:
        """Mean and variance of the number of cells in a report, the same for every value; None if unknown or fixed."""
        if not self.independent_cells or self.coverage != 1:  # otherwise not every value marks equally many cells
            return None
        marked, others, a, b = self.marks, self.cells - self.marks, float(self.a), float(self.b)
        return marked * a + others * b, marked * a * (1 - a) + others * b * (1 - b)

    @property
    def independent_supports(self) -> bool:
        """Whether the supports of all values are independent, given the histogram: each value has its own cell."""
        return self.own_cells and self.independent_cells

    @property
    def joint_support(self) -> tuple[Fraction, Fraction] | None:
        """P[a report supports u and v], if the user's value is one of the two and if it is a third; None if not known.

        If not all values are alike, the mean over third values.
        """
        return (self.p * self.q, self.q**2) if self.independent_cells and self.size is not None else None

    @property
    def two_level(self) -> TwoLevel | None:
        """The law of one report as a ``TwoLevel`` law, with its exact shares; None if it is not known to be one.

        The bounds on shuffling follow from it (the server's ``analysis/shuffling``).
        """
        return None

    @property
    def max_size(self) -> int | None:
        """The largest ``size`` with the same cohorts and cells; the values from the actual ``size`` on are unused."""
        return self.size

    @property
    def uniform_cells(self) -> tuple[int, int] | None:
        """A cell and a length: from that cell on, consecutive runs of that length are reported equally often.

        This holds over all cohorts together, whatever the users' values; None if no such cells are known.
        """
        return None

    @property
    def reach(self) -> tuple[float, float]:
        """The minimum and the maximum that one report, honest or forged, adds to n times an estimate."""
        p, q = float(self.p), float(self.q)
        ends = (-q / (p - q), (1 - q) / (p - q))
        return min(ends), max(ends)

    @property
    def fitted_cells(self) -> float:
        """The number of independent cells that the estimate of one value averages; 1 if it is a count of support."""
        return 1.0

    @property
    def collision_variance(self) -> float:
        """Variance, over fixed hash functions, of an estimate's bias, per Σ f² of other values; 0 without hashing."""
        return 0.0

    @property
    def collision_cube(self) -> float:
        """The third central moment of that bias, per Σ f³."""
        return 0.0

    @property
    def risk(self) -> float:
        """The total squared error over a listed domain, times n: k·V(0) + V(1) - V(0), whatever the frequencies.

        (V is linear in f, except for the term of a coverage below 1, which is left out.)
        """
        size = self.size or 0
        return size * self.variance(0.0) + self.variance(1.0) - self.variance(0.0)

    def _derive(self, **derived: object) -> None:
        """Set derived fields once; afterwards the object is frozen."""
        for name, value in derived.items():
            object.__setattr__(self, name, value)
