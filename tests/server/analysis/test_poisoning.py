"""The stated effect of forged reports is the effect that they have."""

import numpy as np
import pytest

from benchmarks.numeric_coverage import dithered
from contract.cases import each, small_at
from dither_server.analysis.health import cut_shift, gains, poisoning
from dither_server.estimation.decoders.support import support
from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.numeric.mean import mean_of
from dither_server.tally.tally import Tally
from dither_shared import (
    HadamardResponse,
    Mechanism,
    OptimizedUnary,
    ParameterError,
    PrivSet,
    RandomizedResponse,
    Rappor,
    SetResponse,
    Shape,
)
from dither_shared.mechanism import NUMBERS
from server.estimation.numeric.small_laws import expected_tally, small_law


def single_reports(mechanism: Mechanism) -> list[Tally]:
    """Tallies of one report that move estimates most: a symbol each, or rows of ones and of zeros."""
    found = []
    for cohort in range(mechanism.cohorts):
        cells = range(mechanism.cells)
        rows = [[cell] for cell in cells] if mechanism.shape is Shape.SYMBOL else [list(cells), []]
        for row in rows:
            tally = Tally.zero(mechanism)
            tally.reports[cohort] = 1
            tally.counts[cohort, row] = 1
            found.append(tally)
    return found


@each(lambda: [case for case in small_at(1.0) if case.size is not None and case.items != NUMBERS])
def test_stated_gain_of_one_forged_report_is_reached_and_never_exceeded(mechanism: Mechanism) -> None:
    honest = Tally.zero(mechanism)
    honest.counts[:] = 1000
    honest.reports[:] = 1000 * mechanism.cells
    labels = tuple(map(str, range(mechanism.size or 0)))
    before = debiased(mechanism, labels, honest).frequency[0]
    reports = support(mechanism, honest, labels).trials[0]
    moved = [
        debiased(mechanism, labels, honest + forged).frequency[0] - before
        for forged in single_reports(mechanism)
        if support(mechanism, forged, labels).trials[0]
    ]
    share = 1 / (reports / float(mechanism.coverage) + 1)
    up, down = gains(mechanism, np.array([before]), share)
    assert max(moved) == pytest.approx(up[0], abs=1e-9)
    assert -min(moved) == pytest.approx(down[0], abs=1e-9)


def test_gains_of_one_target_are_those_of_the_paper() -> None:
    """As Cao, Jia and Gong have them: for k = 1,024 and ε = 1, in units of the forged share."""
    for family, gain in ((RandomizedResponse, 596), (OptimizedUnary, 3.16), (HadamardResponse, 2.16)):
        found = gains(family.calibrate(1024, 1.0), np.zeros(1), 1.0)[0][0]
        assert found == pytest.approx(gain, rel=0.005), family.name


@pytest.mark.parametrize(
    "mechanism",
    [SetResponse.calibrate(8, 1.0), SetResponse.calibrate(40, 4.0), PrivSet.calibrate(16, 1.0, at_most=3)],
    ids=lambda mechanism: mechanism.name,
)
def test_forged_reports_of_one_cohort_make_an_absent_value_appear_at_the_stated_number(mechanism: Mechanism) -> None:
    """The stated number of forged reports is right to 6% beside a million honest ones if all are of one cohort."""
    law = np.array([np.array(mechanism.cell_law(0, cohort), dtype=float) for cohort in range(mechanism.cohorts)])
    each = 10**6 // mechanism.cohorts
    honest = Tally(np.full(mechanism.cohorts, each), np.rint(each * law).astype(np.int64))
    labels = tuple(map(str, range(mechanism.size or 0)))
    effect, lows = poisoning(mechanism, 10**6, 0.95, 0.01), []
    assert (effect["share"], effect["reports"]) == (0.01, 10_000)
    for forged in (round(0.94 * effect["reports_to_appear"]), round(1.06 * effect["reports_to_appear"])):
        made = Tally.zero(mechanism)
        made.reports[0] = made.counts[0, mechanism.supporting(0, 0)[-1]] = forged
        lows.append(estimate(mechanism, labels, honest + made).low[0])
    assert lows[0] == 0 < lows[1]


def test_crafted_rappor_report_moves_its_string_by_the_stated_gain() -> None:
    """One report in each of many cohorts, of just the string's bits or of all others, beside honest ones of others."""
    mechanism = Rappor.calibrate(None, 2.0, 4.0, bits=32, hashes=2, cohorts=16)
    honest = Tally(np.full(16, 10**6), np.full((16, 32), 10**6 * 2 // 32))
    up, down = gains(mechanism, np.zeros(1), 16 / honest.total)
    for bits, moved in ((True, up[0]), (False, -down[0])):
        forged = Tally.zero(mechanism)
        forged.reports[:] = 1
        for cohort in range(16):
            own = np.isin(np.arange(32), mechanism.marked(b"target", cohort))
            forged.counts[cohort] = own == bits
        before, after = (estimate(mechanism, ("target",), each).frequency[0] for each in (honest, honest + forged))
        assert after - before == pytest.approx(moved, rel=0.01)


def joined_by(tally: Tally, reports: dict[tuple[int, int], int]) -> Tally:
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
        assert mean_of(law, joined_by(honest, {place: extra})).estimate == pytest.approx(3.5 / 8 + shift)


def test_forgers_in_all_phases_or_in_few_move_shares_by_the_stated_shift() -> None:
    """Forged reports in the lowest cell shift the share by as much as stated."""
    law = small_law(4, 2)
    honest = expected_tally(law, [8])
    for aimed, phases in ((None, range(4)), (2, (0, 1))):
        extra = {(phase, 0): 4 * 5 // len(phases) for phase in phases}
        attacked = joined_by(honest, extra)
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
