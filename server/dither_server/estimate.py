"""From a tally to frequencies: unbiased, with standard errors and intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism

from .tally import Tally

__all__ = ["Estimate", "Verdict", "estimate"]

Floats = NDArray[np.float64]
Verdict = Literal["ok", "noise", "too-few"]


@dataclass(frozen=True)
class Estimate:
    """Frequencies of ``labels``, column by column (each array has one entry a label)."""

    labels: tuple[str, ...]
    reports: int
    confidence: float
    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats
    verdicts: tuple[Verdict, ...]


def estimate(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float = 0.95) -> Estimate:
    """Debias a tally. ``labels`` are the domain's, or the candidate strings of an open domain."""
    raise NotImplementedError
