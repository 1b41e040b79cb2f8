"""Sums of estimates: their covariances by every mechanism of listed answers, and how often intervals hold."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.sums import sums_of, with_group
from dither_server.tally.arrays import Floats
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, Mechanism, ParameterError
from dither_shared.mechanism import LISTED
from dither_shared.mechanisms.sums import sum_variance
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

SLOW = pytest.mark.slow
SHAPE = (3, 4)
CELLS = SHAPE[0] * SHAPE[1]
ROWS, COLUMNS = np.indices(SHAPE).reshape(2, -1)
SHARES = np.array([0.5, 0.02, 0.02, 0.06, 0.2, 0.05, 0.01, 0.04, 0.04, 0.03, 0.02, 0.01])
"""Of which one holds half: the lines of a field and the sums of Hadamard rows through it weigh the most."""
CASES = [
    (family.name, parameters)
    for family in MECHANISMS.of(LISTED)
    for parameters in (
        {"epsilon": 2.0, **({"bits": 5} if "bits" in family.keys else {})},
        *([{"epsilon": 2.0, "permanent_epsilon": 4.0}] if "permanent_epsilon" in family.keys else []),
    )
]
FRESH = [case for case in CASES if "permanent_epsilon" not in case[1]]
LASTING = [pytest.param(*case, marks=pytest.mark.slow) for case in CASES if case not in FRESH]
"""Slow, for they differ from the fresh ones in p and q alone."""
OF_EACH_PATH = [case for case in CASES if case[0] in {"subset-selection", "hadamard-response", "bit-flip"}]


def made(name: str, parameters: dict[str, float]) -> Mechanism:
    return MECHANISMS[name].configure(CELLS, parameters)


def drawn(mechanism: Mechanism, reports: int, rng: np.random.Generator, shares: Floats = SHARES) -> Tally:
    """A tally of so many people, drawn from a population."""
    labels = tuple(map(str, range(len(shares))))
    return sample_tally(mechanism, Population(labels, rng.multinomial(reports, shares / shares.sum())), rng)


@pytest.mark.parametrize(("name", "parameters"), [*FRESH, *LASTING])
def test_covariances_are_those_of_many_surveys(name: str, parameters: dict[str, float]) -> None:
    """Variances of 600 estimates have a relative error of 5.8%: beyond 30% with a probability below 1e-6."""
    mechanism, rng = made(name, parameters), np.random.default_rng(20261122)
    estimates, told = [], []
    for survey in range(600):
        tally = drawn(mechanism, 500, rng)
        estimates.append(debiased(mechanism, (), tally).frequency)
        if survey % 10 == 0:
            told.append([with_group(mechanism, tally, group) for group in (ROWS, COLUMNS)])
    true = np.cov(np.array(estimates).T)
    for group, said in zip((ROWS, COLUMNS), np.mean(told, axis=0), strict=True):
        same = group[:, np.newaxis] == group
        assert np.bincount(group, said) == pytest.approx(np.bincount(group, (true * same).sum(axis=1)), rel=0.3)
        # Of one cell with its group: beyond 5 of its own errors, of which the estimate's spread is the scale.
        scale = np.sqrt(np.diag(true) * np.bincount(group, (true * same).sum(axis=1))[group] / 600)
        assert (np.abs(said - (true * same).sum(axis=1)) < 6.5 * scale).all()


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_sums_of_one_value_are_the_value_and_the_sum_of_all_is_1_if_estimates_sum_to_1(
    name: str, parameters: dict[str, float]
) -> None:
    mechanism = made(name, parameters)
    tally = drawn(mechanism, 2000, np.random.default_rng(5))
    single, whole = estimate(mechanism, tuple(map(str, range(CELLS))), tally), np.zeros(CELLS, dtype=np.intp)
    alone, _ = sums_of(mechanism, tally, np.arange(CELLS), 0.05)
    assert alone.frequency == pytest.approx(single.frequency)
    if mechanism.coverage == 1:
        assert alone.standard_error == pytest.approx(single.standard_error)
        assert alone.noise_error == pytest.approx(single.noise_error)
    else:
        assert alone.standard_error == pytest.approx(single.standard_error, rel=0.1)  # of as many reports on average
    if name in {"randomized-response", "subset-selection"}:
        assert with_group(mechanism, tally, whole) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("name", "parameters"), OF_EACH_PATH)
@pytest.mark.parametrize(("reports", "surveys"), [(300, 150), pytest.param(30_000, 400, marks=SLOW)])
def test_intervals_of_sums_hold_as_often_as_stated(
    name: str, parameters: dict[str, float], reports: int, surveys: int
) -> None:
    """Seven shares from 10% to 78%: of each at least as many as a binomial law of 94.5% has, but for 1e-8.

    That is 119 of 150 and 346 of 400. An error that is a third too small would hold 81%. The mean over the shares is
    beyond 2.5 percentage points by chance below 1e-6 if they count for two that are independent.
    """
    mechanism, rng = made(name, parameters), np.random.default_rng(7)
    held = np.zeros(sum(SHAPE))
    true = np.concatenate([np.bincount(group, SHARES) for group in (ROWS, COLUMNS)])
    for _ in range(surveys):
        tally = drawn(mechanism, reports, rng)
        ends = [sums_of(mechanism, tally, group, 0.05)[0] for group in (ROWS, COLUMNS)]
        low, high = (np.concatenate([getattr(one, end) for one in ends]) for end in ("low", "high"))
        held += (low <= true) & (true <= high)
    assert 0.925 < held.mean() / surveys < 0.98
    assert (held >= stats.binom.ppf(1e-8, surveys, 0.945)).all()


@pytest.mark.parametrize("epsilon", [pytest.param(1.0, marks=SLOW), 4.0])
def test_intervals_of_rare_rows_hold_as_often_as_stated(epsilon: float) -> None:
    """Slow at the smaller ε, where the noise is larger and so nearer to a normal law."""
    rare = np.array([0.97, 0.0, 0.029, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001, 0.0, 0.0, 0.0])
    true, held = np.bincount(ROWS, rare), np.zeros(3)
    rng, mechanism = np.random.default_rng(11), MECHANISMS["subset-selection"].calibrate(CELLS, epsilon)
    for _ in range(400):
        found, _ = sums_of(mechanism, drawn(mechanism, 3000, rng, rare), ROWS, 0.05)
        held += (found.low <= true) & (true <= found.high)
    assert (held / 400 > 0.9).all()
    assert held.mean() / 400 < 0.985


def test_of_no_reports_nothing_is_known_but_that_it_is_a_share() -> None:
    mechanism = made("subset-selection", {"epsilon": 1.0})
    found, _ = sums_of(mechanism, Tally.zero(mechanism), ROWS, 0.05)
    assert np.isnan(found.frequency).all()
    assert (found.low.tolist(), found.high.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_a_mechanism_that_does_not_know_its_joint_law_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made("subset-selection", {"epsilon": 1.0})
    monkeypatch.setattr(type(mechanism), "joint_support", None)
    with pytest.raises(
        ParameterError, match="mechanism: subset-selection does not define the joint law of its supports"
    ):
        sums_of(mechanism, drawn(mechanism, 10, np.random.default_rng(1)), ROWS, 0.05)


@pytest.mark.parametrize("name", [family.name for family in MECHANISMS.of(LISTED)])
@pytest.mark.parametrize("cells", [(2, 2), (3, 50)])
def test_covariances_of_an_expected_tally_are_the_law_itself(name: str, cells: tuple[int, int]) -> None:
    """At sizes people use: with very many reports n · Var of a sum is near the usual one."""
    size = cells[0] * cells[1]
    mechanism = MECHANISMS[name].configure(size, {"epsilon": 1.0})
    group = np.indices(cells).reshape(2, -1)[0]
    tally = drawn(mechanism, 10**7, np.random.default_rng(3), np.ones(size))
    variance = np.bincount(group, with_group(mechanism, tally, group)) * 10**7
    usual = sum_variance(mechanism, cells[1], 1 / cells[0])
    assert usual is not None
    share = 1 / cells[0]
    assert variance.mean() == pytest.approx(usual + share * (1 - share), rel=0.15)
