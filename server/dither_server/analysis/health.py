"""Forged reports: test whether a tally has the patterns of honest ones, and how far forged ones can move an estimate.

A test uses the sums alone, and its p-value is the largest over all honest answers. All tests of an estimate together
raise a false alarm with probability at most ``FALSE_ALARMS``. A failed test is shown, but no report is dropped.

Devices with a permanent draw or a cohort for life repeat themselves from period to period. In the worst case all T
periods have the same reports; then the tally divided by T has the law of independent reports.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple, TypedDict

import numpy as np
import scipy

from dither_shared import Mechanism, ParameterError
from dither_shared.mechanism import LISTED, SETS

from ..estimation.decoders.decoder import Support
from ..estimation.decoders.support import decoder_of, support
from ..estimation.numeric.dithered import Dithered
from ..tally.arrays import Floats
from ..tally.tally import Tally

FALSE_ALARMS = 0.001

_LEAST_EXPECTED = 25.0
"""Minimum expected count of a cell in a chi-square test."""
_LEAST_VARIANCE = 400.0
"""Minimum variance of a sum in a normal test; below it, the approximation is too poor in the far tail."""


class _Check(TypedDict):
    """A test: the pattern of honest reports, the p-value, the level of the test, and whether it failed."""

    test: str
    says: str
    p_value: float
    level: float
    odd: bool


class _Sums(NamedTuple):
    """A tally divided by the number of periods that may repeat each other; its numbers need not be whole."""

    mechanism: Mechanism
    tally: Tally
    reports: Floats
    counts: Floats
    periods: int


def health(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally) -> list[_Check]:
    """Return the tests that apply to a tally; none if there are too few reports."""
    repeated = max(1, len(tally.repeats.periods)) if mechanism.memoised else 1
    sums = _Sums(mechanism, tally, tally.reports / repeated, tally.counts / repeated, repeated)
    results = [(name, says, test(sums)) for name, (says, test) in _TESTS.items()] if tally.total else []
    held = [(name, says, p_value) for name, says, p_value in results if p_value is not None]
    level = FALSE_ALARMS / max(len(held), 1)
    return [
        _Check(test=name, says=says, p_value=p_value, level=level, odd=p_value < level) for name, says, p_value in held
    ]


def _range(sums: _Sums) -> float | None:
    """Test each support against its extreme laws over all answers, Bin(n, q) and Bin(n, p)."""
    if sums.mechanism.items not in {LISTED, SETS}:
        return None
    low, high = sorted((float(sums.mechanism.q), float(sums.mechanism.p)))
    return _of_oddest(support(sums.mechanism, sums.tally, ()), sums.periods, low, high)


def _of_oddest(supports: Support, periods: int, low: float, high: float) -> float:
    """Return the p-value of the oddest support if honest ones are at least Bin(n, low) and at most Bin(n, high)."""
    supporting, trials = (each / periods for each in supports)
    values = len(supporting)
    if trials.min() == trials.max():  # then only the rarest and the commonest can have the least p-value
        supporting, trials = np.array([supporting.min(), supporting.max()]), trials.max()
    tails = np.minimum(_at_most(supporting, trials, low), _at_most(trials - supporting, trials, 1 - high))
    return min(1.0, 2 * values * float(tails.min()))


def _balance(sums: _Sums) -> float | None:
    return _as_expected(sums.reports, sums.mechanism.cohort_law) if len(sums.reports) > 1 else None


def _weight(sums: _Sums) -> float | None:
    """Compare the number of ones with its known expectation: every value marks the same number of bits."""
    moments = sums.mechanism.weight_moments
    n = float(sums.reports.sum())
    if moments is None or n * moments[1] < _LEAST_VARIANCE:
        return None
    score = (float(sums.counts.sum()) - n * moments[0]) / math.sqrt(n * moments[1])
    return float(2 * scipy.special.ndtr(-abs(score)))


def _weights(sums: _Sums) -> float | None:
    """Test the ones of each cohort, and sum the squares; None if a cohort's marks depend on the answers."""
    moments = sums.mechanism.weight_moments if sums.mechanism.coverage == 1 else None
    if moments is None or len(sums.reports) == 1 or float(sums.reports.min()) * moments[1] < _LEAST_VARIANCE:
        return None
    away = sums.counts.sum(axis=1) - sums.reports * moments[0]
    return float(scipy.special.chdtrc(len(away), float((away**2 / (sums.reports * moments[1])).sum())))


def _spare(sums: _Sums) -> float | None:
    """Test the supports of points that stand for no value, each of which any report supports with probability q."""
    size = sums.mechanism.size
    if sums.mechanism.max_size == size:
        return None
    q = float(sums.mechanism.q)
    points = support(replace(sums.mechanism, size=sums.mechanism.max_size), sums.tally, ())
    return _of_oddest(Support(*(each[size:] for each in points)), sums.periods, q, q)


def _symbols(sums: _Sums) -> float | None:
    """Test runs of cells that have equal expectations under all answers."""
    if sums.mechanism.uniform_cells is None:
        return None
    first, length = sums.mechanism.uniform_cells
    counts = np.asarray(sums.counts.sum(axis=0)[first:].reshape(-1, length).sum(axis=1))
    return _as_expected(counts) if len(counts) > 1 else None


def _windows(sums: _Sums) -> float | None:
    """Test whether each value has equal shares in all its windows (Pearson's chi-square); return the least p-value.

    The reporters of each window are a random sample, so a value's support has the same probability in all its windows.
    """
    windows = decoder_of(sums.mechanism).by_window(sums.mechanism, sums.tally)
    if windows is None or windows.trials.shape[1] < 2:
        return None
    supporting, trials = windows.supporting / sums.periods, windows.trials / sums.periods
    chance = supporting.sum(axis=1) / np.maximum(trials.sum(axis=1), 1)
    spread = chance * (1 - chance)
    enough = trials.min(axis=1) * np.minimum(chance, 1 - chance) >= _LEAST_EXPECTED
    if not enough.any():
        return None
    away = (supporting - trials * chance[:, np.newaxis])[enough] ** 2 / (trials * spread[:, np.newaxis])[enough]
    return min(1.0, float(enough.sum() * scipy.special.chdtrc(trials.shape[1] - 1, away.sum(axis=1)).min()))


_TESTS: dict[str, tuple[str, Callable[[_Sums], float | None]]] = {
    "range": ("no value has a share clearly below 0% or above 100%", _range),
    "cohorts": ("every cohort has about its expected share of the reports", _balance),
    "weight": ("the number of ones in the reports is what the noise predicts", _weight),
    "weight-by-cohort": ("the number of ones is what the noise predicts in each cohort", _weights),
    "spare": ("symbols that stand for no value occur as often as chance predicts", _spare),
    "windows": ("a value is equally common in every group of neighbours that contains it", _windows),
    "symbols": ("symbols that say nothing about a value are equally common", _symbols),
}


def _as_expected(counts: Floats, law: tuple[Fraction, ...] | None = None) -> float | None:
    """Return the p-value of counts under a law, uniform if it is None (Pearson's chi-square)."""
    shares = np.full(len(counts), 1 / len(counts)) if law is None else np.array([float(share) for share in law])
    expected = counts.sum() * shares
    if float(expected.min()) < _LEAST_EXPECTED:
        return None
    return float(scipy.special.chdtrc(len(counts) - 1, float(((counts - expected) ** 2 / expected).sum())))


def _at_most(counts: Floats, trials: Floats | float, probability: float) -> Floats:
    """Return P[Bin(trials, probability) <= counts]; 1 without trials, the limit of a beta shape of 0."""
    return np.asarray(scipy.special.betainc(np.maximum(trials - counts, 1e-300), counts + 1, 1 - probability))


def poisoning(mechanism: Mechanism, reports: int, confidence: float, share: float) -> dict[str, float]:
    """Return the effect of forged reports on an estimate from ``reports`` reports, of which a ``share`` is forged.

    ``reports`` of the answer is the number of these. ``reports_to_appear`` forged reports suffice for the interval of a
    value that nobody has to exclude 0. Anyone can send them, and they cannot be recognised. As in ``gains``, all forged
    reports cover the attacked value, so if a report covers a share c of the values, each counts 1/c times.
    """
    noise = math.sqrt(mechanism.variance(0.0) * reports / mechanism.fitted_cells)
    each = mechanism.reach[1] / float(mechanism.coverage)
    # At a share of 0 all of 1 - confidence lies above (``feldman_cousins``).
    appear = math.ceil(NormalDist().inv_cdf(max(confidence, 0.5)) * noise / each)
    return {"share": share, "reports": round(share * reports), "reports_to_appear": appear}


def gains(mechanism: Mechanism, frequency: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the largest rise and fall of each value's estimate that a share β of forged reports can cause.

    A crafted report supports a value with certainty, or does not, so it contributes (1-q)/(p-q) or -q/(p-q), whereas an
    honest one contributes the estimate f on average: β ((1-q)/(p-q) - f) up, β (f + q/(p-q)) down (Cao, Jia and Gong,
    USENIX Security 2021). If a report covers a share c of the values, all forged reports cover the attacked value, and
    are a share β/(c (1-β) + β) of the reports that do. One report may raise several values at once; each value is
    considered by itself.

    A string that is fitted to its cells has no support: the result is for a fit of this string alone, and a joint fit
    of many strings may amplify the effect.
    """
    low, high = mechanism.reach
    forged = share / (float(mechanism.coverage) * (1 - share) + share)
    return forged * (high - frequency), forged * (frequency - low)


def cut_shift(law: Dithered, forged: float, cuts: int | None = None) -> float:
    """Return how far a share ``forged`` of all reports can move the share below a point, up or down; at most 1.

    All forgers choose the phases of ``cuts`` neighbouring cuts, at most d; with None they spread over all phases, and
    move all shares together. If forgers use few phases, the test of the phases' counts detects it.
    """
    if not 0 <= forged <= 1:  # NaN compares false
        raise ParameterError("forged", f"{forged!r} is not a share of all reports, from 0 to 1")
    d = law.phases
    aimed = d if cuts is None else cuts
    if not 1 <= aimed <= d:
        raise ParameterError("cuts", f"{aimed} is not between 1 and {d}, the number of phases")
    many = forged / aimed
    among = many / (many + (1 - forged) / d)
    return float(np.minimum(among * (1 - float(law.q)) / law.gap, 1.0))
