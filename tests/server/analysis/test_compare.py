"""Differences are found as often as stated if there are some, and hardly ever if there are none."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.columns import Table
from dither_server.analysis.compare import compared as compared_table
from dither_server.analysis.estimate_table import estimate_table as answer
from dither_server.analysis.spread import holm, spread_of, two_sided, weights_of
from dither_server.app import collector_of, create_app
from dither_server.estimation.intervals.score import noise_law
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError, RandomizedResponse, parse_metrics
from dither_shared.mechanisms.randomized_response import symbol_chain
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.collecting import MOBILE, THEME, TODAY, config, problem, rows_of, upload

DAY = date(2026, 11, 1)
ASKED = parse_metrics(
    """
[metrics.few]
type = "boolean"
epsilon = 1.0
[metrics.many]
type = "choice"
mechanism = "optimized-unary"
values = ["a", "b", "c", "d", "e", "f", "g"]
epsilon = 1.0
[metrics.choice]
type = "choice"
mechanism = "randomized-response"
values = ["a", "b", "c", "d", "e", "f", "g"]
epsilon = 3.0
"""
)
SHARES = {
    "few": [0.8, 0.2],
    "many": [0.5, 0.3, 0.1, 0.05, 0.05, 0, 0, 0],
    "choice": [0.5, 0.3, 0.1, 0.05, 0.05, 0, 0, 0],
}


def surveyed(metric: Metric, users: int, rng: np.random.Generator, shares: list[float] | None = None) -> Table:
    counts = rng.multinomial(users, shares or SHARES[metric.name])
    return answer(metric, sample_tally(metric.mechanism, Population(metric.labels, counts), rng), (DAY, DAY))


def alike(
    metric: Metric, first: Table, second: Table, confidence: float = 0.95, change: float = 0.01
) -> dict[str, Any]:
    """Compare two answers of one mechanism."""
    mechanisms = (metric.mechanism, metric.mechanism)
    return compared_table(first, second, mechanisms, confidence, change).whole()


def paired(sides: list[list[Table]], pairs: Sequence[tuple[int, ...]]) -> list[Table]:
    """Return both sides of all pairs of surveys as two answers, of a value for each pair: the second of the metric."""
    names = ("frequency", "standard_error", "low", "high")
    return [
        Table(
            side[0].about,
            {"value": [*map(str, pairs)]}
            | {name: np.array([side[pair[place]].columns[name][1] for pair in pairs]) for name in names},
        )
        for place, side in enumerate(sides)
    ]


def same_share(
    metric: Metric, share: float, sizes: tuple[int, int], every: int = 1
) -> tuple[tuple[Table, Table], np.ndarray]:
    """Return the answers of two samples of one population, with a value for each pair of its supports, and its chance.

    Of the second sample every n-th support is enough to compute the law.
    """
    p, q = float(metric.mechanism.p), float(metric.mechanism.q)
    sides, laws = [], []
    for reports, step in zip(sizes, (1, every), strict=True):
        law = stats.binom.pmf(np.arange(reports + 1), reports, q + share * (p - q))
        likely = np.flatnonzero(law > 1e-6)[::step]
        laws.append(law[likely] / law[likely].sum())
        rest = [0] * (len(metric.labels) - 2)
        tallies = (Tally(np.array([reports]), np.array([[0, seen, *rest]])) for seen in likely)
        sides.append([answer(metric, tally, (DAY, DAY)) for tally in tallies])
    pairs = list(product(*(range(len(side)) for side in sides)))
    first, second = paired(sides, pairs)
    return (first, second), np.array([laws[0][one] * laws[1][other] for one, other in pairs])


@pytest.mark.parametrize(
    ("name", "users", "most"),
    [("few", 50, 0.065), ("many", 50, 0.065), ("choice", 50, 0.065), ("many", 200, 0.0515)],
)
def test_false_changes_between_few_reports_are_as_frequent_as_stated(name: str, users: int, most: float) -> None:
    """By enumeration over both supports of one value, of two populations with the same share: P[p < 5%]."""
    metric = ASKED[name]
    (first, second), likely = same_share(metric, SHARES[name][1], (users, 2 * users))
    p_values = np.array([row["p_value"] or 0 for row in alike(metric, first, second)["values"]])
    assert 0.04 < likely[p_values < 0.05].sum() < most


RARE = parse_metrics(
    '[metrics.rare]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["a", "b", "c"]\nepsilon = 5.0'
)["rare"]


@pytest.mark.parametrize("turned", [False, True], ids=["small-first", "large-first"])
def test_a_small_side_that_saw_few_of_a_rare_value_is_no_change(turned: bool) -> None:
    """300 reports against 30,000 of a value that 2% hold, by enumeration: P[p < α] is at most α, and a tenth of it.

    By each side's own error it is 7% at 5% and 1.5% at 0.1%: those who saw few of it think that they know it well.
    """
    (small, large), likely = same_share(RARE, 0.02, (300, 30_000), every=20)
    first, second = (large, small) if turned else (small, large)
    p_values = np.array([row["p_value"] for row in alike(RARE, first, second)["values"]])
    assert 0.03 < likely[p_values < 0.05].sum() < 0.055
    assert 0.0003 < likely[p_values < 0.001].sum() < 0.0011


def test_the_interval_of_a_difference_holds_for_few_people_of_whom_one_has_a_value() -> None:
    """20 people and 200, by enumeration: by their own errors alone, only 78% of the intervals contain the difference.

    In all of 3,402 such cases, from 20 to 1,000 people at ε = 0.5 to 8, at least 94.6% contain it.
    """
    (first, second), likely = same_share(RARE, 0.05, (20, 200))
    rows = alike(RARE, first, second)["values"]
    assert 0.95 < likely[[row["low"] <= 0 <= row["high"] for row in rows]].sum() < 0.998
    turned = alike(RARE, second, first)["values"]
    assert [(-row["high"], -row["low"]) for row in turned] == [(row["low"], row["high"]) for row in rows]


def test_stated_number_of_reports_detects_the_change_with_the_stated_power() -> None:
    """Power 80%: of 100 surveys between 60% and 96%, wrong with a probability below 1e-5."""
    metric, rng = ASKED["few"], np.random.default_rng(3)
    pilot = alike(
        metric, surveyed(metric, 1000, rng, [0.79, 0.21]), surveyed(metric, 1000, rng, [0.79, 0.21]), change=0.04
    )
    needed, error = (pilot["values"][1][name] for name in ("reports_needed", "standard_error"))
    reach = stats.norm.ppf(0.8) + stats.norm.isf(0.05 / 4)  # of the first of two values by Holm
    assert needed == np.ceil(1000 * error**2 * (reach / 0.04) ** 2)
    seen = sum(
        alike(metric, surveyed(metric, needed, rng), surveyed(metric, needed, rng, [0.76, 0.24]))["values"][1][
            "changed"
        ]
        for _ in range(100)
    )
    assert 0.6 < seen / 100 < 0.96
    assert (pilot["power"], pilot["change"], pilot["correction"]) == (0.8, 0.04, "holm")


def test_change_below_all_numbers_takes_more_reports_than_can_be_counted() -> None:
    metric, rng = ASKED["few"], np.random.default_rng(3)
    sides = surveyed(metric, 1000, rng, [0.79, 0.21]), surveyed(metric, 1000, rng, [0.79, 0.21])
    for change in (1e-300, 5e-324):
        assert {row["reports_needed"] for row in alike(metric, *sides, change=change)["values"]} == {None}


def test_a_difference_is_the_difference_with_the_sum_of_the_variances() -> None:
    metric = ASKED["few"]
    first = answer(metric, Tally(np.array([1000]), np.array([[600, 400]])), (DAY, DAY), 0.9)
    second = answer(metric, Tally(np.array([4000]), np.array([[2000, 2000]])), (DAY, DAY), 0.9)
    comparison = alike(metric, first, second, confidence=0.9)
    before, after, row = first.rows()[1], second.rows()[1], comparison["values"][1]
    assert row["difference"] == pytest.approx(after["frequency"] - before["frequency"])
    error = np.hypot(before["standard_error"] or 0, after["standard_error"] or 0)
    assert row["standard_error"] == pytest.approx(error)
    assert 1 <= (row["difference"] - row["low"]) / (1.6448536 * error) < 1.03
    together = np.sqrt(0.48 * 0.52 * (1 / 1000 + 1 / 4000)) / float(metric.mechanism.p - metric.mechanism.q)
    assert stats.norm.isf((row["p_value"] or 0) / 2) == pytest.approx((row["difference"] or 0) / together, rel=5e-3)
    assert row["adjusted"] == pytest.approx(2 * row["p_value"])
    assert row["changed"]
    assert row["reports_needed"] is None
    assert [side["reports"] for side in comparison["sides"]] == [1000, 4000]


def test_the_same_people_on_many_days_are_no_more_people() -> None:
    """A week of memoised answers counts for no more than the people who gave them, if they may all be the same."""
    metric = parse_metrics('[metrics.x]\ntype = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0\n')["x"]
    tally = Tally(np.array([7000]), np.array([[4000, 3000]]), Repeats((1000,) * 7))
    week = answer(metric, tally, (DAY, DAY + timedelta(days=6)))
    day = answer(metric, Tally(np.array([1000]), np.array([[571, 429]])), (DAY, DAY))
    row, alone = (alike(metric, first, first)["values"][0]["standard_error"] for first in (week, day))
    assert 0.6 * alone < row < alone  # the noise of one report averages out


@pytest.mark.parametrize("permanent", ["", "permanent_epsilon = 1.2"])
def test_same_people_on_both_sides_are_flagged_at_most_as_often_as_stated(permanent: str) -> None:
    """400 pairs of days of people who keep their answer and their permanent draw; all pairs are compared at once."""
    metric = parse_metrics(f'[metrics.x]\ntype = "boolean"\nepsilon = 1.0\n{permanent}\n')["x"]
    assert isinstance(metric.mechanism, RandomizedResponse)
    rng, surveys, people = np.random.default_rng(11), 400, 500
    chain = symbol_chain(2, metric.mechanism.truth, metric.mechanism.permanent_truth)
    truth, first = float(chain.instant.truth), float(metric.mechanism.permanent_truth or 1)
    yes = rng.binomial(people, 0.3, surveys)
    yes = rng.binomial(yes, first) + rng.binomial(people - yes, 1 - first)
    said = rng.binomial(yes, truth, (2, surveys)) + rng.binomial(people - yes, 1 - truth, (2, surveys))
    counts, places = np.unique(said, return_inverse=True)
    day_of = [answer(metric, Tally(np.array([people]), np.array([[people - one, one]])), (DAY, DAY)) for one in counts]
    pairs = [(int(one), int(other)) for one, other in places.reshape(said.shape).T]
    one_day, other_day = paired([day_of, day_of], pairs)
    rows = alike(metric, one_day, other_day)["values"]
    flagged = sum((row["p_value"] or 0) < 0.05 for row in rows)
    assert flagged <= stats.binom.isf(1e-6, surveys, 0.05)
    assert not permanent or flagged < 0.02 * surveys  # most of the noise is on both sides


def test_comparison_without_shared_values_is_refused_and_of_few_reports_says_nothing() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="few and many share no values"):
        alike(ASKED["few"], surveyed(ASKED["few"], 10, rng), surveyed(ASKED["many"], 10, rng))
    nothing = answer(ASKED["few"], Tally.zero(ASKED["few"].mechanism))
    row = alike(ASKED["few"], nothing, surveyed(ASKED["few"], 10, rng))["values"][0]
    assert (row["difference"], row["p_value"], row["changed"], row["reports_needed"]) == (None, None, False, None)
    few = answer(ASKED["few"], Tally(np.array([3]), np.array([[3, 0]])))
    assert [(row["low"], row["high"]) for row in alike(ASKED["few"], few, few)["values"]] == [(-1, 1)] * 2


def test_holm_p_values_match_the_definition() -> None:
    """The example of p = 0.01, 0.04, 0.03, 0.005 (Holm's steps: 0.03, 0.06, 0.06, 0.02), and no test among them."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.01, np.nan, 0.9])).tolist() == pytest.approx([0.02, np.nan, 0.9], nan_ok=True)
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_p_values_are_the_tails_of_a_gamma_with_the_skewness_that_is_given() -> None:
    score = np.linspace(-6, 6, 25)
    for skewness in (-1.0, -0.01, 0.0, 0.3):
        law = stats.pearson3(skewness)
        assert two_sided(score, skewness) == pytest.approx(2 * np.minimum(law.cdf(score), law.sf(score)), rel=1e-4)
    assert two_sided(np.array([-9.0]), 1.0).tolist() == [0.0], "no variable of that skewness is so low"


def test_weights_are_inverse_variances_at_the_share_nearest_to_the_mean() -> None:
    """Estimates of -1 are of a share of 0, those of 2 of a share of 1, however noisy they are."""
    mechanisms = [RandomizedResponse.calibrate(3, 2.0), RandomizedResponse.calibrate(3, 0.5)]
    seen = np.array([[-1.0, 2.0]] * 2)
    for reports in (1, 1_000):
        laws = [noise_law(mechanism).sampled() for mechanism in mechanisms]
        inverse = np.array([reports / law.variance(np.array([0.0, 1.0])) for law in laws])
        spreads = [
            spread_of(mechanism, frequency, law.error(np.array([0.0, 1.0]), np.full(2, reports)), reports, 1.0)
            for mechanism, law, frequency in zip(mechanisms, laws, seen, strict=True)
        ]
        assert weights_of(spreads, seen) == pytest.approx(inverse / inverse.sum(axis=0))


def test_values_that_only_one_side_has_are_left_out() -> None:
    rng = np.random.default_rng(1)
    first, other = surveyed(ASKED["many"], 900, rng), surveyed(ASKED["many"], 900, rng)
    second = other.chosen(np.array([7, 2, 0]))
    rows = alike(ASKED["many"], first, second.chosen(np.array([1, 2])))["values"]
    assert [row["value"] for row in rows] == ["a", "c"]
    assert [row["second"] for row in rows] == [other.columns["frequency"][place] for place in (0, 2)]


def test_route_compares_two_weeks_two_stretches_and_two_versions(tmp_path: Path) -> None:
    app = create_app(config(tmp_path))
    store, client = collector_of(app).store, app.test_client()
    before = TODAY - timedelta(days=7)
    store.commit([upload(THEME, rows_of(THEME, 600, value="light"))], before, b"s" * 16)
    store.commit([upload(THEME, rows_of(THEME, 600, b"new", "dark"))], TODAY, b"s" * 16)
    store.commit([upload(MOBILE, rows_of(MOBILE, 100, value="true"))], TODAY, b"s" * 16)
    weeks = client.get("/v1/metrics/theme/compare").json
    assert weeks is not None
    assert [(side["since"], side["until"], side["reports"]) for side in weeks["sides"]] == [
        ("2026-11-07", "2026-11-13", 600),
        ("2026-11-14", "2026-11-20", 600),
    ]
    days = f"since={before}&until={before}&other_since={TODAY}&other_until={TODAY}&change=0.05&confidence=0.99"
    comparison = client.get(f"/v1/metrics/theme/compare?{days}").json
    assert comparison is not None
    rows = {row["value"]: row for row in comparison["values"]}
    assert rows["dark"]["changed"]
    assert rows["light"]["difference"] < -0.5
    assert rows["other"]["reports_needed"] > 1000
    again = client.get(f"/v1/metrics/theme/compare?{days}&other=theme&version={THEME.version}").json
    assert again == comparison
    wrong = {
        f"/v1/metrics/theme/compare?since={before}": (400, "parameter"),
        "/v1/metrics/theme/compare?other=mobile": (400, "parameter"),
        "/v1/metrics/theme/compare?other=nothing": (404, "unknown-metric"),
        "/v1/metrics/theme/compare?other_version=0": (404, "unknown-version"),
        "/v1/metrics/theme/compare?change=2": (400, "parameter"),
    }
    assert {url: problem(client.get(url)) for url in wrong} == wrong
    collector_of(app).close()
