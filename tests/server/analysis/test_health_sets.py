"""Health of tallies of sets: honest reports pass as often as is said, and a window that is flooded is seen.

Tests of false alarms are wrong with a probability below 1e-7 over the choice of their seed.
"""

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.health import FALSE_ALARMS, health
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import PrivSet, SetResponse
from server.analysis.test_health import alarms_of
from server.estimation.sets_of_people import People, privset_tally, response_tally

SURVEYS, REPORTS = 150, 4_000


@pytest.mark.parametrize(("size", "window"), [(2, 1), (2, 2), (8, 5)])
def test_honest_reports_of_windows_pass_as_often_as_stated(size: int, window: int) -> None:
    mechanism, people = SetResponse.calibrate(size, 2.0, window=window), People.of(size)
    rng = np.random.default_rng(20261120)
    alarms = alarms_of(mechanism, (), (response_tally(mechanism, people, REPORTS, rng) for _ in range(SURVEYS)))
    assert set(alarms) == {"range", "cohorts"} | ({"windows"} if window > 1 else set())


def test_honest_lists_of_values_pass_as_often_as_stated() -> None:
    mechanism, people = PrivSet.calibrate(8, 1.0, at_most=3), People.of(8, 3)
    rng = np.random.default_rng(20261120)
    tallies = (privset_tally(mechanism, people.draw(500, rng), rng) for _ in range(SURVEYS))
    assert set(alarms_of(mechanism, (), tallies)) == {"range"}


@pytest.mark.parametrize("periods", [1, 3])
def test_value_forged_in_one_window_is_flagged_as_odd(periods: int) -> None:
    """Two in a hundred forged reports of one window; with a permanent draw the same ones come each day."""
    permanent = None if periods == 1 else 3.0
    mechanism = SetResponse.calibrate(8, 2.0, permanent, window=2)
    honest = response_tally(mechanism, People.of(8), 60_000, np.random.default_rng(5))
    counts = honest.counts.copy()
    counts[5, mechanism.cells - 1] += 1_200
    forged = Tally(periods * counts.sum(axis=1), periods * counts, Repeats((1,) * periods))
    assert {check["test"] for check in health(mechanism, (), forged) if check["odd"]} == {"cohorts", "windows"}
    counts[:, 0] += 1_200 - np.bincount([5], [1_200], 8).astype(np.int64)  # as many reports of every window
    forged = Tally(periods * counts.sum(axis=1), periods * counts, Repeats((1,) * periods))
    assert [check["test"] for check in health(mechanism, (), forged) if check["odd"]] == ["windows"]
    same = Tally(periods * honest.reports, periods * honest.counts, Repeats((1,) * periods))
    assert not any(check["odd"] for check in health(mechanism, (), same))
    once, repeated = ([check["p_value"] for check in health(mechanism, (), tally)] for tally in (honest, same))
    assert repeated == pytest.approx(once, rel=1e-6)


def test_value_in_every_report_is_flagged_as_odd() -> None:
    """All values in every report is more than everybody has; the levels share the false alarms."""
    mechanism = SetResponse.calibrate(6, 1.0, window=2)
    counts = np.zeros((6, 4), dtype=np.int64)
    counts[:, 3] = 500
    checks = health(mechanism, (), Tally(counts.sum(axis=1), counts))
    assert [(check["test"], check["odd"]) for check in checks] == [("range", True), ("cohorts", False)]
    assert {check["level"] for check in checks} == {FALSE_ALARMS / 2}


def test_windows_are_compared_by_pearsons_test() -> None:
    """Each value's reports in the windows that hold it, with its bit and without, are a table of counts."""
    mechanism = SetResponse.calibrate(6, 2.0, window=3)
    tally = response_tally(mechanism, People.of(6), 5_000, np.random.default_rng(8))
    found = {check["test"]: check["p_value"] for check in health(mechanism, (), tally)}["windows"]
    chances = []
    for value in range(6):
        cells_of = [mechanism.supporting(value, cohort) for cohort in range(6)]
        ones = np.array([tally.counts[cohort, list(cells)].sum() for cohort, cells in enumerate(cells_of) if cells])
        reports = np.array([tally.reports[cohort] for cohort, cells in enumerate(cells_of) if cells])
        chances.append(stats.chi2_contingency([ones, reports - ones]).pvalue)
    assert found == pytest.approx(min(1.0, 6 * min(chances)))


@pytest.mark.parametrize(("ones", "held"), [(24, False), (25, True), (75, True), (76, False)])
def test_windows_are_compared_if_25_reports_with_a_value_and_25_without_it_are_expected(ones: int, held: bool) -> None:
    mechanism = SetResponse.calibrate(6, 2.0, window=3)
    counts = np.zeros((6, 8), dtype=np.int64)
    counts[:, 7], counts[:, 0] = ones, 100 - ones  # all values of the window, or none
    checks = {check["test"]: check["p_value"] for check in health(mechanism, (), Tally(counts.sum(axis=1), counts))}
    assert ("windows" in checks) == held
    assert checks.get("windows", 1) == 1, "all windows are alike"
