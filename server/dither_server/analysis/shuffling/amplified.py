"""Compute the ε of a report in shuffled batches, one or several, by the better of two bounds."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither_shared import Mechanism, Metric, ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.definition import MOST_MIXED
from dither_shared.primitives.probability import float_above

from ..composition import Part, optimal
from .blanket import blanket_delta, blanket_epsilon, finite_law
from .generic import checked_shuffle, generic_delta, generic_epsilon

CONDITIONS = (
    "the shuffler and the collector do not collude",
    "the collector sees one multiset of reports: no ids, no addresses, no times, no order, no lasting cohort",
    "n is the number of honest reports in one batch of one metric, version and stratum: forged reports hide nobody",
    "a device has at most the stated number of reports, per batch and in total, and draws each independently: each "
    "further report adds its own ε",
)
"""The assumptions under which these bounds hold."""


_LEAST_GAIN = 0.01
"""Minimum relative gain for which composition spends a δ."""


@dataclass(frozen=True)
class Amplified:
    """Upper bounds of the privacy loss of a report to an observer of all ``reports`` of a shuffled batch.

    - ``local``: ε₀, its loss without the shuffle, which holds in any case;
    - ``generic``: an ε with ``delta`` that holds for any mechanism of that ε₀, None if there is no amplification;
    - ``blanket``: an ε from the law of the mechanism, None if it has more than two levels and too many reports;
    - ``reason``: why there is no amplification, or None;
    - ``own``: the number of reports of one device that the bounds cover together, in this batch or in several such.
    """

    reports: int
    delta: float
    local: float
    generic: float | None = None
    blanket: float | None = None
    reason: str | None = None
    own: int = 1

    @property
    def unshuffled(self) -> float:
        """The ε, without a δ, of the device's own reports if they are not shuffled: the sum of their ε₀."""
        return float_above(self.own * Fraction(self.local))

    @property
    def best(self) -> float:
        """The least of the bounds, at most ``unshuffled``, which is also the value if there is no bound."""
        return min(bound for bound in (self.unshuffled, self.generic, self.blanket) if bound is not None)

    @property
    def lost(self) -> float:
        """The δ of ``best``: 0 if ``best`` does not rely on the shuffle."""
        return self.delta if self.best < self.unshuffled else 0.0

    def after(self, batches: int) -> tuple[float, float]:
        """Return (ε, δ) of ``batches`` such batches, if one device has ``own`` reports in each of them.

        This is the sum or, if that is at least 1% less, the optimal composition, which spends ``delta`` once more.
        Without amplification it is the sum of ε₀, without a δ. Raises ParameterError for no batches, or if δ reaches 1.
        """
        each, delta = Fraction(self.best), Fraction(self.lost)
        part = Part(each, batches, delta)
        if part.total_delta + delta >= 1:
            raise ParameterError(
                "delta",
                f"{counted(batches, 'batch loses', 'batches lose')} {float(part.total_delta):.3g}; nothing is promised",
            )
        together = optimal([part], delta) if batches > 1 else math.inf
        if together < (1 - _LEAST_GAIN) * part.total:
            return together, float_above(part.total_delta + delta)
        return float_above(part.total), float_above(part.total_delta)


def amplified(mechanism: Mechanism, reports: int, delta: float, forged: float = 0.0, own: int = 1) -> Amplified:
    """Return the loss of ``own`` reports of a device among ``reports``, of which a share ``forged`` hides nobody.

    The reports of the device may be in one batch, or in several of at least ``reports`` each. The result holds only
    under ``CONDITIONS``. It takes half a second, or a few seconds for 10^9 reports. Raises ParameterError if a batch or
    the device has no reports, for a δ that is not between 0 and 1, and for a share that is not from 0 to below 1.
    """
    if not 0 <= forged < 1:
        raise ParameterError("forged", f"{forged!r} is not a share from 0 to below 1")
    honest = math.floor(reports * (1 - Fraction(str(forged))))
    checked_shuffle(mechanism.epsilon, honest, delta, own)
    return _amplified(mechanism, honest, delta, own)


@lru_cache(maxsize=256)
def _amplified(mechanism: Mechanism, honest: int, delta: float, own: int) -> Amplified:
    local, reason = mechanism.epsilon, _reason(mechanism)
    if reason is not None:
        return Amplified(honest, delta, local, reason=reason, own=own)
    law = mechanism.two_level or finite_law(mechanism)
    most = float_above(own * Fraction(local))
    blanket = None if law is None else min(most, blanket_epsilon(law, honest, delta, own))
    return Amplified(honest, delta, local, min(most, generic_epsilon(local, honest, delta, own)), blanket, own=own)


def _reason(mechanism: Mechanism) -> str | None:
    """Return why shuffling does not amplify the privacy of the mechanism; None if it does."""
    if mechanism.memoised:
        return "reports of one device repeat its permanent draw in its own cohort, so shuffling does not separate them"
    if mechanism.delta:
        return "it has a δ of its own, for which these bounds are not proven"
    return None


_FINE = 1000
"""The ε of a report is planned in steps of 1/1000."""


def keeps(mechanism: Mechanism, epsilon: float, least: int, delta: float) -> bool:
    """Return whether a report is (``epsilon``, ``delta``)-private among ``least`` honest reports in a shuffled batch.

    The bounds of this package prove it under their ``CONDITIONS``; with more reports it stays true. Raises
    ParameterError as ``checked_shuffle`` does.
    """
    checked_shuffle(mechanism.epsilon, least, delta)
    if mechanism.memoised or mechanism.delta:
        return False
    if epsilon >= mechanism.epsilon:
        return True
    law = mechanism.two_level or finite_law(mechanism)
    kept_delta = generic_delta(mechanism.epsilon, least, epsilon) if law is None else blanket_delta(law, least, epsilon)
    return kept_delta <= delta


def require_mixed(metrics: Iterable[Metric]) -> None:
    """Raise ParameterError for a metric whose batches do not keep what its ``mixed`` promises."""
    for metric in metrics:
        mixed = metric.mixed
        if mixed is None or keeps(metric.mechanism, mixed.epsilon, mixed.least, mixed.delta):
            continue
        best = amplified(metric.mechanism, mixed.least, mixed.delta).best
        raise ParameterError(
            f"metrics.{metric.name}.mixed",
            f"at epsilon = {metric.mechanism.epsilon:.6g} a batch of {mixed.least} reports guarantees only {best:.6g} "
            f"at a delta of {mixed.delta:g}, not {mixed.epsilon:g}; dither-sim plan --relay finds a suitable epsilon",
        )


def local_epsilon(
    mechanism_at: Callable[[float], Mechanism], epsilon: float, least: int, delta: float
) -> tuple[float, Mechanism]:
    """Return an ε of a report, and its mechanism, at which batches of ``least`` keep (``epsilon``, ``delta``).

    It is a multiple of 1/1000 and at most 4. It is the largest such ε, unless the mechanism changes its family above
    it. If none is above ``epsilon``, the result is ``epsilon``, which needs no batch.
    """
    low, high = int(epsilon * _FINE), int(MOST_MIXED * _FINE) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(mechanism_at(middle / _FINE), epsilon, least, delta) else (low, middle)
    local = max(epsilon, low / _FINE)
    return local, mechanism_at(local)
