"""The ε of a report in a shuffled batch, by the better of two bounds, for one batch and for several."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.primitives.probability import float_above

from ..composition import Part, optimal
from .blanket import blanket_epsilon
from .envelope import finite_law
from .generic import checked_shuffle, generic_epsilon

CONDITIONS = (
    "the shuffler and the collector do not collude",
    "the collector sees one multiset of reports: no ids, no addresses, no times, no order, no lasting cohort",
    "n is the number of honest reports in one batch of one metric, version and stratum: forged reports hide nobody",
    "a device has at most the stated number of reports, per batch and in total, and draws each independently: each "
    "further report adds its own ε",
)
"""What must be true for any of these numbers to be."""


_LEAST_GAIN = 0.01
"""The share of a sum that a δ must save to be worth it."""


@dataclass(frozen=True)
class Amplified:
    """The privacy loss of a report to an observer of all ``reports`` of a shuffled batch; no number is below the truth.

    - ``local``: ε₀, its loss without the shuffle, which holds whatever becomes of the batch;
    - ``generic``: an ε with ``delta`` for any mechanism of that ε₀, None where there is no amplification;
    - ``blanket``: the same by the law of the mechanism, None where it has more than two levels and too many reports;
    - ``reason``: why there is no amplification, or None;
    - ``own``: how many reports of one device these bounds are of, all together, in this batch or in several such.
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
        """The ε, with no δ, of the device's own reports if nobody shuffles: ε₀ of each."""
        return float_above(self.own * Fraction(self.local))

    @property
    def best(self) -> float:
        """The least of the bounds; ``unshuffled`` where there is none, and never above it."""
        return min(bound for bound in (self.unshuffled, self.generic, self.blanket) if bound is not None)

    @property
    def lost(self) -> float:
        """The δ of ``best``: none where it takes no shuffle."""
        return self.delta if self.best < self.unshuffled else 0.0

    def after(self, batches: int) -> tuple[float, float]:
        """Return (ε, δ) of ``batches`` batches of as many reports, if one device has ``own`` reports in each of them.

        That is the sum or, if it is a hundredth less, the optimal composition, which takes ``delta`` once more.
        Without amplification it is the sum of ε₀, with no δ. Raises ParameterError for no batches, or if δ reaches 1.
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
    """Return what ``own`` reports of a device tell among ``reports``, a share ``forged`` of which hides nobody.

    However these lie in batches: in one, or in several of as many reports at least. It is true under ``CONDITIONS``
    alone. Half a second, or a few for 10^9 reports. Raises ParameterError for no reports, in a batch or of the device,
    for a δ that is not between 0 and 1, and for a share that is not from 0 to below 1.
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
    """Return why a shuffle adds nothing to what the mechanism promises, or None."""
    if mechanism.memoised:
        return "reports of one device repeat its permanent draw in its own cohort, so shuffling does not separate them"
    if mechanism.delta:
        return "it has a δ of its own, for which these bounds are not proven"
    return None
