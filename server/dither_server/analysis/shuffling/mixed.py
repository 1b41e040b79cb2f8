"""Check that batches keep the promise of a metric (``mixed``), and compute the largest ε of a report that keeps it."""

from collections.abc import Callable, Iterable

from dither_shared import Mechanism, Metric, ParameterError
from dither_shared.metrics.definition import MOST_MIXED

from .amplified import amplified
from .blanket import blanket_delta
from .envelope import finite_law
from .generic import checked_shuffle, generic_delta

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
    found = generic_delta(mechanism.epsilon, least, epsilon) if law is None else blanket_delta(law, least, epsilon)
    return found <= delta


def require_mixed(metrics: Iterable[Metric]) -> None:
    """Raise ParameterError for a metric whose batches do not keep what its ``mixed`` promises."""
    for metric in metrics:
        mixed = metric.mixed
        if mixed is None or keeps(metric.mechanism, mixed.epsilon, mixed.least, mixed.delta):
            continue
        best = amplified(metric.mechanism, mixed.least, mixed.delta).best
        raise ParameterError(
            f"metrics.{metric.name}.mixed",
            f"at epsilon = {metric.mechanism.epsilon:.6g} a batch of {mixed.least} keeps {best:.6g} with a delta of "
            f"{mixed.delta:g}, not {mixed.epsilon:g}; dither-sim plan --relay shows which epsilon does",
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
