"""Dithered response: report which of a few wide cells contains the answer, on a grid with a random public phase."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import Item
from ..primitives.channel import TwoLevel
from ..primitives.probability import as_probability, exp_below, threshold_text, toward
from ..rows import Shape
from .chained import ChainOfSymbols
from .checks import checked_count, checked_epsilons, index_of
from .numeric import NumericMechanism, check_no_size
from .randomized_response import symbol_chain, truths

MAX_STEPS, MAX_PHASES = 1023, 256
"""Maximum steps and phases: details below 1/2^17 of the range are lost in the noise at any ε."""

PHASES, PERMANENT_PHASES = 64, 16
"""Default numbers of phases: a device with a permanent part keeps its phase, which helps to recognize the device."""

_AIMS = ("both", "mean")


@dataclass(frozen=True, kw_only=True)
class DitheredResponse(ChainOfSymbols, NumericMechanism):
    """Randomized response to a rounding of the answer, whose phase is drawn at random and reported with it.

    The grid has the points v = 0, …, m·d: m = ``steps``, each of d = ``resolution`` points. The cohort c, uniform on
    0, …, d - 1 and independent of v, is the phase (subtractive dither, Roberts 1962; the α-point rounding of Ding,
    Kulkarni and Yekhanin 2017, made public). A value marks the cell s = (v + c) // d of m + 1, which is reported by
    randomized response:

        P[s' = s] = p,   P[s' = another] = q = (1-p)/m,   λ = p - q,   ε = ln(p/q),   p = e^ε/(e^ε + m) at a given ε.

    Since Σ_c (v + c) // d = v (Hermite's identity), the score

        g(c, s') = ( (s' - m/2)/λ + m/2 + ((d-1)/2 - c)/d )/m

    has the expectation v/(m d) for every v, and for v = s₀d + θd with 0 <= θ < 1 the variance

        ( (1-λ)/λ·(U + m(m+2)/(12 λ)) + (d²-1)/(12 d²) )/m²,   U = (1-θ)(s₀ - m/2)² + θ(s₀ + 1 - m/2)²,

    which is largest at both ends, where U = m²/4. With m = 1 it is ((e^ε+1)/(e^ε-1))² - 2/3 on a range of 2 (d large):
    that of Duchi, Jordan and Wainwright (2018) less 2/3, whatever v. The share of answers below point i has the
    unbiased estimate (share of s' < j in phase c = jd - i, less q j)/λ where j = ⌈i/d⌉.

    By default m = round(e^(ε/2)), a compromise of the errors of means and of quantiles.

    With a permanent part the cell goes through the chain of ``RandomizedResponse``, in a phase that the device keeps.
    The permanent draw depends on phase and cell alone, so a device has at most m + 1 of them.
    """

    name: ClassVar[str] = "dithered-response"
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon", "steps", "resolution", "for"})
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"for": _AIMS}

    size: int
    steps: int
    truth: Fraction
    permanent_truth: Fraction | None = None

    def __post_init__(self) -> None:
        steps = checked_count(self.steps, "steps", 1, MAX_STEPS)
        size = checked_count(self.size, "size", 2, MAX_STEPS * MAX_PHASES + 1)
        phases, rest = divmod(size - 1, steps)
        if rest:
            raise ParameterError("size", f"{size} points are not one more than a multiple of {steps} steps")
        cells = steps + 1
        truth = toward(Fraction(1, cells), as_probability(self.truth, "truth"))
        chain = symbol_chain(cells, truth, self.permanent_truth)
        self._derive(
            shape=Shape.SYMBOL,
            truth=truth,
            permanent_truth=None if chain.permanent is None else chain.permanent.truth,
            cohorts=checked_count(phases, "resolution", 1, MAX_PHASES),
            cells=cells,
            a=chain.truth,
            b=chain.lie,
            p=chain.truth,
            q=chain.lie,
            ratio=chain.ratio_after(1),
            permanent_ratio=chain.permanent_ratio,
            _chain=chain,
        )

    @classmethod
    def calibrate(
        cls,
        size: int | None,
        epsilon: float,
        permanent_epsilon: float | None = None,
        *,
        steps: int | None = None,
        resolution: int | None = None,
        aim: str = "both",
    ) -> Self:
        """Return the mechanism with the truths of ``RandomizedResponse`` at both ε; ``size`` must be None.

        Without ``steps``, their number is chosen: for the ``aim`` "mean", the one with the least worst-case variance.
        """
        check_no_size(size, cls.name)
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        phases = PHASES if forever is None else PERMANENT_PHASES
        if resolution is not None:
            phases = checked_count(resolution, "resolution", 1, MAX_PHASES)
        if aim not in _AIMS:
            raise ParameterError("for", f"{aim!r} is not one of {', '.join(_AIMS)}")
        if steps is not None and aim != "both":
            raise ParameterError("for", "cannot be given together with steps, because it chooses them")
        if steps is None and aim == "mean":
            return cls._best_of_mean(phases, once, forever)
        usual = min(floor(exp_below(once / 2) + Fraction(1, 2)), MAX_STEPS)
        steps = usual if steps is None else checked_count(steps, "steps", 1, MAX_STEPS)
        return cls._with_steps(steps, phases, once, forever)

    @classmethod
    def _with_steps(cls, steps: int, phases: int, once: Fraction, forever: Fraction | None) -> Self:
        truth, permanent_truth = truths(steps + 1, once, forever)
        return cls(size=steps * phases + 1, steps=steps, truth=truth, permanent_truth=permanent_truth)

    @classmethod
    def _best_of_mean(cls, phases: int, once: Fraction, forever: Fraction | None) -> Self:
        """Return the mechanism with the least worst-case variance, which is convex in the number of steps."""
        best = cls._with_steps(1, phases, once, forever)
        for steps in range(2, MAX_STEPS + 1):
            other = cls._with_steps(steps, phases, once, forever)
            if other.worst_mean_variance >= best.worst_mean_variance:
                break
            best = other
        return best

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for both ε, ``resolution``, and either ``steps`` or ``for``."""
        numbers = cls._with_epsilon(parameters)
        shape = {
            key: checked_count(numbers[key], key, 1, most)
            for key, most in (("steps", MAX_STEPS), ("resolution", MAX_PHASES))
            if key in numbers
        }
        aim = parameters.get("for", "both")
        if not isinstance(aim, str):
            raise ParameterError("for", f"{aim!r} is not one of {', '.join(_AIMS)}")
        return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), aim=aim, **shape)

    @property
    def resolution(self) -> int:
        """The number of points in a step, one for each phase."""
        return self.cohorts

    @property
    def permanent_draws(self) -> int | None:
        """The number of cells, because each cell has one permanent draw."""
        return self.cells if self.memoised else None

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a value owns its cell; both ends, and the point one step above 0, share none."""
        return TwoLevel(self.ratio, Fraction(1, self.cells), Fraction(0), Fraction(0) if self.steps > 1 else None)

    @property
    def integers(self) -> Mapping[str, object]:
        """The truth; the phases are the cohorts."""
        return {"truth": threshold_text(self.truth)}

    @property
    def stored_draws(self) -> tuple[object, ...]:
        """The arguments of the chain; the cell of a point follows from the number of cohorts."""
        return self._stored

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the cell into which the point falls in the phase ``cohort``."""
        return ((index_of(item, self.size) + cohort) // self.cohorts,)

    def mean_score(self, cell: int, cohort: int = 0) -> Fraction:
        """Return g(c, s')."""
        m, d = self.steps, self.cohorts
        return ((cell - Fraction(m, 2)) / (self.p - self.q) + Fraction(m * d + d - 1 - 2 * cohort, 2 * d)) / m

    def mean_variance(self, item: Item) -> Fraction:
        """Return the variance of the score, by its formula."""
        first, rest = divmod(index_of(item, self.size), self.cohorts)
        m, weight = self.steps, Fraction(rest, self.cohorts)
        return self._variance_at(
            (1 - weight) * (first - Fraction(m, 2)) ** 2 + weight * (first + 1 - Fraction(m, 2)) ** 2
        )

    @property
    def worst_mean_variance(self) -> Fraction:
        """The variance of the score at both ends."""
        return self._variance_at(Fraction(self.steps**2, 4))

    @property
    def average_mean_variance(self) -> Fraction:
        """The mean of the variance over the range: that of U is (m² + 2)/12."""
        return self._variance_at(Fraction(self.steps**2 + 2, 12))

    def _variance_at(self, offset: Fraction) -> Fraction:
        """Return the variance of the score for E_c (s - m/2)² = ``offset``, the U of the class."""
        m, d, gap = self.steps, self.cohorts, self.p - self.q
        noise = (1 - gap) / gap * (offset + m * (m + 2) / (12 * gap))
        return (noise + Fraction(d * d - 1, 12 * d * d)) / m**2
