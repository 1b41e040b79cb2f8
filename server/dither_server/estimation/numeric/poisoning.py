"""How far forged reports move a mean, and the share below a point."""

import numpy as np

from dither_shared import ParameterError

from .laws.dithered import Dithered

__all__ = ["cut_shift", "mean_shift"]


def mean_shift(law: Dithered, forged: float, mean: float = 0.5) -> tuple[float, float]:
    """Return how far a part ``forged`` of all reports can move a mean down and up, in parts of the range.

    Every forger sends the report of the least score, or of the greatest. ``mean`` is that of the honest.
    """
    part, scores = _part(forged), law.score_table
    return part * (float(scores.min()) - mean), part * (float(scores.max()) - mean)


def cut_shift(law: Dithered, forged: float, cuts: int | None = None) -> float:
    """Return how far a part ``forged`` of all reports can move a share below a point, down or up; at most 1.

    All forgers choose the phases of so many ``cuts`` in a row, at most d; with None they spread over all phases, and
    move all shares together. Forgers in few phases make these stand out: the test of the phases' counts sees it.
    """
    part, d = _part(forged), law.phases
    aimed = d if cuts is None else cuts
    if not 1 <= aimed <= d:
        raise ParameterError("cuts", f"{aimed} is not between 1 and {d}, the phases")
    many = part / aimed
    among = many / (many + (1 - part) / d)
    return float(np.minimum(among * (1 - float(law.q)) / law.gap, 1.0))


def _part(forged: float) -> float:
    if not 0 <= forged <= 1:  # NaN compares false
        raise ParameterError("forged", f"{forged!r} is no part of all reports, between 0 and 1")
    return forged
