"""Forged reports: their effect by the formula, and their effect on an estimate."""

import numpy as np
import pytest

from benchmarks.numeric_coverage import dithered
from dither_server.analysis.health import cut_shift
from dither_server.estimation.numeric.mean import mean_of
from dither_server.tally.tally import Tally
from dither_shared import ParameterError

from .small_laws import expected_tally, small_law


def forged(tally: Tally, reports: dict[tuple[int, int], int]) -> Tally:
    counts = tally.counts.copy()
    for place, number in reports.items():
        counts[place] += number
    return Tally(counts.sum(axis=1), counts)


def test_worst_score_moves_the_mean_by_the_stated_gain() -> None:
    """The law's mechanism states the reach of a report; all forgers send the least or the greatest score."""
    law = small_law(4, 2)
    honest = expected_tally(law, [2, 5])
    extra = honest.total // 99
    part = extra / (honest.total + extra)
    down, up = (part * (float(score) - 3.5 / 8) for score in (law.score_table.min(), law.score_table.max()))
    for place, shift in (((0, 2), up), ((3, 0), down)):
        assert mean_of(law, forged(honest, {place: extra})).estimate == pytest.approx(3.5 / 8 + shift)


def test_forgers_in_all_phases_or_in_few_move_shares_by_the_stated_shift() -> None:
    """Forged reports in the lowest cell shift the share by as much as stated."""
    law = small_law(4, 2)
    honest = expected_tally(law, [8])
    for aimed, phases in ((None, range(4)), (2, (0, 1))):
        extra = {(phase, 0): 4 * 5 // len(phases) for phase in phases}
        attacked = forged(honest, extra)
        part = 1 - honest.total / attacked.total
        found = law.cuts(attacked, 0.95).frequency[4 - phases[0] if aimed else 1]
        assert found == pytest.approx(cut_shift(law, part, aimed))


def test_no_forged_report_moves_nothing_and_all_forged_reports_move_anything() -> None:
    law = dithered(1.0)
    assert cut_shift(law, 0.0, 1) == 0
    assert cut_shift(law, 1.0) == 1
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ParameterError):
            cut_shift(law, bad)
    for cuts in (0, 65):
        with pytest.raises(ParameterError):
            cut_shift(law, 0.1, cuts)
    assert np.isfinite(cut_shift(law, 0.1, 64))
