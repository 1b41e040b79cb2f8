"""Channels for a bit, a symbol and an owned report, their chains (permanent, then instantaneous), two-level laws.

A chain without a permanent part is a channel that is drawn independently for each report. All probabilities are
multiples of 2^-64, so whatever is derived from them is exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ..errors import ParameterError
from ..light import cached_property
from .entropy import Entropy
from .probability import ONE, as_probability, exp_below, threshold_down, toward


@dataclass(frozen=True)
class BitChannel:
    """One bit through noise: ``high`` is P[1 | 1] and ``low`` is P[1 | 0]."""

    high: Fraction
    low: Fraction

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """``high`` and ``low`` as integers, in units of 2^-64."""
        return int(self.high * ONE), int(self.low * ONE)

    @property
    def odds_ratio(self) -> Fraction:
        """The likelihood ratio of x to x' from two bits, one marked only by x and one marked only by x'."""
        ratio = self.high * (1 - self.low) / (self.low * (1 - self.high))
        return max(ratio, 1 / ratio)

    def then(self, last: "BitChannel") -> "BitChannel":
        """Return the channel made of this one followed by ``last``."""
        return BitChannel(
            self.high * last.high + (1 - self.high) * last.low, self.low * last.high + (1 - self.low) * last.low
        )


@dataclass(frozen=True)
class BitChain:
    """A row of bits, each through ``permanent`` once for ever and through ``instant`` for each report."""

    instant: BitChannel
    permanent: BitChannel | None = None

    @cached_property
    def whole(self) -> BitChannel:
        """The channel of one report."""
        return self.instant if self.permanent is None else self.permanent.then(self.instant)

    @property
    def permanent_ratio(self) -> Fraction | None:
        """The likelihood ratio of any number of reports from two bits that differ; None if each report adds to it."""
        return None if self.permanent is None else self.permanent.odds_ratio

    def ratio_after(self, reports: int) -> Fraction:
        """Return the likelihood ratio of ``reports`` reports of one value, from two bits that differ.

        Given how many of them show a 1, the likelihood ratio of a marked to an unmarked bit is monotone in that
        number, so its extremes are at none and at all of them.
        """
        if self.permanent is None:
            return self.instant.odds_ratio**reports
        high, low = self.permanent.high, self.permanent.low

        def likelihood_ratio(from_one: Fraction, from_zero: Fraction) -> Fraction:
            one, zero = from_one**reports, from_zero**reports
            return (high * one + (1 - high) * zero) / (low * one + (1 - low) * zero)

        all_ones = likelihood_ratio(self.instant.high, self.instant.low)
        no_ones = likelihood_ratio(1 - self.instant.high, 1 - self.instant.low)
        return max(all_ones / no_ones, no_ones / all_ones)


@dataclass(frozen=True)
class SymbolChannel:
    """One of ``size`` symbols through noise: itself with probability ``truth``, else one of the others."""

    size: int
    truth: Fraction

    @cached_property
    def lie(self) -> Fraction:
        """The probability of each other symbol."""
        return (1 - self.truth) / (self.size - 1)

    @cached_property
    def threshold(self) -> int:
        """``truth`` as an integer, in units of 2^-64."""
        return int(self.truth * ONE)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of a symbol under two inputs."""
        return max(self.truth / self.lie, self.lie / self.truth)

    def draw(self, symbol: int, entropy: Entropy) -> int:
        """Draw the reported symbol: the given one or another."""
        return entropy.kept(symbol, self.size, self.threshold)


@dataclass(frozen=True)
class SymbolChain:
    """A symbol through ``permanent`` once for ever and through ``instant`` for each report."""

    instant: SymbolChannel
    permanent: SymbolChannel | None = None

    @cached_property
    def truth(self) -> Fraction:
        """P[one report shows x | x]."""
        if self.permanent is None:
            return self.instant.truth
        first, last = self.permanent, self.instant
        return first.truth * last.truth + (1 - first.truth) * last.lie

    @cached_property
    def lie(self) -> Fraction:
        """P[one report shows x | another symbol]."""
        return (1 - self.truth) / (self.instant.size - 1)

    @property
    def permanent_ratio(self) -> Fraction | None:
        """The likelihood ratio of any number of reports of one value; None if each report adds to it."""
        return None if self.permanent is None else self.permanent.ratio

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value: all of them show the same symbol."""
        if self.permanent is None:
            return self.instant.ratio**reports
        truth, lie, others = self.permanent.truth, self.permanent.lie, self.instant.size - 1
        same, different = self.instant.truth**reports, self.instant.lie**reports
        ratio = (truth * same + others * lie * different) / (
            lie * same + truth * different + (others - 1) * lie * different
        )
        return max(ratio, 1 / ratio)


@dataclass(frozen=True)
class OwnedChannel:
    """Report one of the ``owned`` of all ``reports`` with probability ``inside``, otherwise one of the rest.

    It is uniform on either side. If a value owns c of K reports, the extremal channel gives each of them the weight e^ε
    and each other report the weight 1: ``inside`` = c e^ε/(c e^ε + K - c), and

        ε = ln( inside (K - c) / ((1 - inside) c) ).
    """

    reports: int
    owned: int
    inside: Fraction

    @classmethod
    def at(cls, epsilon: Fraction, owned: int, reports: int) -> Self:
        """Return the extremal channel at ``epsilon``, with ``inside`` rounded down to a multiple of 2^-64."""
        odds = exp_below(epsilon)
        return cls(reports, owned, Fraction(threshold_down(owned * odds / (owned * odds + reports - owned)), ONE))

    @classmethod
    def checked(cls, inside: Fraction, owned: int, reports: int) -> Self:
        """Return the channel with ``inside`` on the grid of 2^-64.

        Raises ParameterError unless ``inside`` is above chance and below 1.
        """
        chance = Fraction(owned, reports)
        rounded = toward(chance, as_probability(inside, "inside"))
        if not chance < rounded < 1:
            problem = f"{float(inside):g} must lie between {float(chance):g} (no information) and 1"
            raise ParameterError("inside", problem)
        return cls(reports, owned, rounded)

    @cached_property
    def high(self) -> Fraction:
        """The probability of each owned report."""
        return self.inside / self.owned

    @cached_property
    def low(self) -> Fraction:
        """The probability of each other report."""
        return (1 - self.inside) / (self.reports - self.owned)

    @property
    def ratio(self) -> Fraction:
        """The ratio of the probabilities of one report if it is owned and if it is not."""
        return self.high / self.low

    @cached_property
    def threshold(self) -> int:
        """``inside`` as an integer, in units of 2^-64."""
        return int(self.inside * ONE)


@dataclass(frozen=True)
class OwnedChain:
    """A report drawn once for ever by ``permanent``, which every later report repeats with probability ``kept``.

    Otherwise the report is drawn uniformly from all reports; so one report also has the law of an ``OwnedChannel``.
    """

    permanent: OwnedChannel
    kept: Fraction

    @cached_property
    def threshold(self) -> int:
        """``kept`` as an integer, in units of 2^-64."""
        return int(self.kept * ONE)

    @cached_property
    def whole(self) -> OwnedChannel:
        """The channel of one report."""
        first = self.permanent
        chance = Fraction(first.owned, first.reports)
        return OwnedChannel(first.reports, first.owned, self.kept * first.inside + (1 - self.kept) * chance)

    @property
    def permanent_ratio(self) -> Fraction:
        """The privacy loss of any number of reports of one value."""
        return self.permanent.ratio

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value: all show one that x owns and x' does not.

        Compared with any other report, the repeated one has r = 1 + κK/(1-κ) times the likelihood in each report. A
        series in which report u occurs m(u) times has the ratio

            1 + (high - low)(S(x) - S(x'))/(low·S + (high - low)·S(x')),   S = Σ_u r^m(u),

        S(x) over those that x owns. A report that x' owns too, or x does not, lowers it; and Σ (r^m - 1) over the rest
        is largest if all are one. That leaves (1 + high (r^T - 1))/(1 + low (r^T - 1)).
        """
        first = self.permanent
        more = (1 + self.kept * first.reports / (1 - self.kept)) ** reports - 1
        return (1 + first.high * more) / (1 + first.low * more)


@dataclass(frozen=True)
class TwoLevel:
    """A law in which every value owns a set of reports, and each of these is ``ratio`` times as likely as any other.

    Probabilities are relative to a law μ over all reports, including cohorts, that is the same for all values:

        P[y | x] = γ μ(y) · (ratio if x owns y, else 1),   γ = 1/(1 + (ratio - 1) · share).

    - ``share``: μ of what a value owns, the same for all values;
    - ``overlap``: the least μ of what two values both own. If some pair has less, the bound does not hold; a number
      that is too small is safe, because the stated loss is then too large;
    - ``aside``: μ of what a third value owns together with the first but not the second of such a pair, and equally the
      other way round; None if there is no third value, or none is known. Attacks need it, bounds do not.
    """

    ratio: Fraction
    share: Fraction
    overlap: Fraction
    aside: Fraction | None = None

    @property
    def blanket(self) -> Fraction:
        """γ, the probability with which a report can be regarded as independent of its value."""
        return 1 / (1 + (self.ratio - 1) * self.share)
