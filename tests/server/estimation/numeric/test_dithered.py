"""The dithered law against its definition, walked with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.tally.tally import Tally
from dither_shared import ParameterError

from .small_laws import SMALL, cell_chances, expected_tally, small_law

each = pytest.mark.parametrize(("phases", "steps"), SMALL)


def moments(law: Dithered, point: int) -> tuple[Fraction, Fraction]:
    """Mean and second moment of the score, over phases and noise."""
    score = law.score_table
    chances = [
        (chance / law.phases, Fraction(float(score[phase, cell])))
        for phase in range(law.phases)
        for cell, chance in enumerate(cell_chances(law, point, phase))
    ]
    mean = sum((chance * one for chance, one in chances), Fraction(0))
    return mean, sum((chance * one**2 for chance, one in chances), Fraction(0))


@each
def test_dithered_scores_are_unbiased_with_the_stated_variance(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    for point in range(law.points):
        mean, square = moments(law, point)
        assert float(mean) == pytest.approx(point / (law.points - 1), abs=1e-13)
        cells = [(point + phase) // phases - Fraction(steps, 2) for phase in range(phases)]
        spread = sum(cell**2 for cell in cells) / phases
        assert law.variance(float(spread)) == pytest.approx(float(square - mean**2), rel=1e-12)


@each
def test_noise_of_a_tally_depends_on_the_answers_of_its_people(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    people = [0, law.points - 1, law.points // 2, law.points // 2]
    variances = [float(square - mean**2) for mean, square in (moments(law, point) for point in people)]
    found = law.noise_variance(expected_tally(law, people))
    assert found == pytest.approx(np.mean(variances), rel=1e-12)
    assert law.worst_variance == pytest.approx(max(variances), rel=1e-12)


def test_noise_variance_stays_within_its_extremes() -> None:
    law = small_law(1, 2)
    for counts, noise in (([9, 0, 0], law.worst_variance), ([0, 9, 0], law.variance(0.0))):
        assert law.noise_variance(Tally(np.array([9]), np.array([counts]))) == noise


@each
def test_shares_below_points_are_unbiased(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    for people in ([0], [law.points - 1], [1, law.points // 2, law.points // 2]):
        cuts = law.cuts(expected_tally(law, people), 0.95)
        below = [sum(score < cut for score in people) / len(people) for cut in range(law.points + 1)]
        assert cuts.frequency == pytest.approx(below, abs=1e-12)
        assert (cuts.low <= cuts.high).all()


def test_errors_of_a_share_are_those_of_its_one_phase() -> None:
    law = small_law(3, 2)
    tally = Tally(np.array([50, 70, 90]), np.array([[20, 20, 10], [20, 30, 20], [40, 30, 20]]))
    cuts = law.cuts(tally, 0.95)
    q, gap = float(law.q), law.gap
    share = (50 / 70 - 2 * q) / gap  # cut 5 is in phase 1, and below it are cells 0 and 1
    chance = 2 * q + gap * share
    error = np.sqrt(chance * (1 - chance) / 70) / gap
    assert cuts.frequency[5] == pytest.approx(share)
    assert cuts.standard_error[5] == pytest.approx(error)
    assert cuts.noise_error[5] == pytest.approx(np.sqrt(error**2 - share * (1 - share) / 210))


@each
def test_the_channel_is_the_matrix_of_its_definition(phases: int, steps: int) -> None:
    law, rng = small_law(phases, steps), np.random.default_rng(1)
    slope = np.zeros((law.phases * (law.steps + 1), law.points))
    for point in range(law.points):
        for phase in range(phases):
            cell = (point + phase) // phases
            slope[cell * phases + phases - 1 - phase, point] = law.gap
    curve, cells, points = (rng.random(size) for size in (law.points, len(slope), law.points))
    assert law.spread(curve) == pytest.approx(slope @ curve)
    assert law.gathered(cells) == pytest.approx(slope.T @ cells)
    matrix = slope.T @ np.diag(cells) @ slope + np.diag(points)
    assert matrix @ law.solver(cells, points)(curve) == pytest.approx(curve)
    tally = expected_tally(law, [1])
    assert law.cell_shares(tally) == pytest.approx((law.floor + slope[:, 1]) / phases)


@pytest.mark.parametrize(
    ("phases", "steps", "p", "q"),
    [(0, 1, "3/4", "1/4"), (1, 0, "3/4", "1/4"), (2, 1, "1/4", "3/4"), (2, 2, "3/4", "1/4"), (2, 1, "1", "0")],
)
def test_dithered_law_of_impossible_numbers_is_refused(phases: int, steps: int, p: str, q: str) -> None:
    with pytest.raises(ParameterError):
        Dithered(phases, steps, Fraction(p), Fraction(q))
