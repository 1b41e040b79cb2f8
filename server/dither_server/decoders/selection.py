"""Which of many candidate strings are there at all: forward selection with false-discovery control.

The residual of what is selected so far is tested against every candidate by the z-score of fitting it alone. Those that
pass the procedure of Benjamini and Hochberg (1995) over all candidates, and come within half of the strongest, are
taken; the selection is fitted anew, and so on until none passes. (Half, because a strong string lends some of its bits
to candidates that collide with it; once it is fitted it lends no more.) A final round drops what no longer passes.
"""

import numpy as np
from scipy import linalg, special

from .system import Floats, Indices, System

__all__ = ["fitted", "select"]

_SHARE = 0.5
_ROUNDS = 100


def select(system: System, level: float) -> Indices:
    """Return the candidates whose presence shows, ascending; of these a share of about ``level`` are not there.

    At most half as many as there are cells: beyond, the table cannot tell them apart.
    """
    candidates = system.marks.shape[1]
    information = system.information()
    chosen = np.zeros(0, dtype=np.intp)
    residual = system.target
    for _ in range(_ROUNDS):
        score = system.gradient(residual) / np.sqrt(information * system.dispersion(residual, len(chosen)))
        score[chosen] = -np.inf
        passing = _passing(score, level, len(chosen), candidates)
        fresh = passing[score[passing] >= _SHARE * score.max()]
        if not len(fresh) or len(chosen) + len(fresh) > len(residual) // 2:
            break
        chosen = np.sort(np.concatenate([chosen, fresh]))
        residual = fitted(system, chosen)[1]
    while len(chosen):
        frequency, residual, solve = fitted(system, chosen)
        error = np.sqrt(system.dispersion(residual, len(chosen)) * (solve**2 @ (1 / system.weight)))
        kept = np.sort(_passing(frequency / error, level, 0, candidates))
        if len(kept) == len(chosen):
            break
        chosen = chosen[kept]
    return chosen


def fitted(system: System, chosen: Indices) -> tuple[Floats, Floats, Floats]:
    """Return the least-squares frequencies of the chosen, the residual, and the matrix that solves for them."""
    columns = system.dense(chosen)
    weighted = columns.T * system.weight
    solve = np.asarray(linalg.pinvh(weighted @ columns) @ weighted)
    frequency = np.asarray(solve @ system.target)
    return frequency, system.target - columns @ frequency, solve


def _passing(score: Floats, level: float, before: int, candidates: int) -> Indices:
    """Return the places of the scores that pass, strongest first, ``before`` having passed already."""
    order = np.argsort(-score, kind="stable")
    ranks = before + 1 + np.arange(len(score))
    passes = special.ndtr(-score[order]) <= level * ranks / candidates
    last = np.flatnonzero(passes)
    return order[: last[-1] + 1] if len(last) else order[:0]
