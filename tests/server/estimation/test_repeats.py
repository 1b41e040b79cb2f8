"""People who report again: the design effect, the covariance of their reports, and intervals that allow for it."""

from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_server.estimation.hashing import marks_of
from dither_server.estimation.intervals.exact import exact_interval
from dither_server.estimation.intervals.score import (
    noise_law,
    people_interval,
    score_interval,
    share_interval,
    shared_variance,
    third_moment,
)
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.estimation.strings.discovery import Spelling, discover
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    DitheredResponse,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    PrefixSketch,
    PrivSet,
    ProjectiveSketch,
    RandomizedResponse,
    Rappor,
    SetResponse,
    parse_metrics,
)
from dither_shared.mechanisms.randomized_response import symbol_chain
from dither_simulations.users.populations import Population
from server.estimation.strings.sketched import tally_of

DAY = date(2026, 11, 2)  # a Monday
SHARE = Fraction(3, 10)
ONE = np.array([0.3])


def effect(*reports: int, more: str = "") -> float:
    metric = parse_metrics(f'[metrics.x]\ntype = "boolean"\nepsilon = 1.0\n{more}\n')["x"]
    return Repeats.of(metric, [(DAY + timedelta(days=day), number) for day, number in enumerate(reports)]).effect


def test_the_design_effect_is_that_of_the_most_that_devices_can_repeat() -> None:
    assert effect(1000) == 1
    assert effect(*[1000] * 30) == 30
    assert effect(1000, 10) == pytest.approx(1 + 2 * 10 / 1010)
    many = np.random.default_rng(1).integers(0, 50, 20).tolist()
    assert effect(*many) == pytest.approx(sum(min(pair) for pair in product(many, many)) / sum(many))
    devices = np.arange(max(many))  # device i reports whenever more than i do
    each = np.array([sum(device < number for number in many) for device in devices])
    assert effect(*many) == pytest.approx(float((each**2).sum() / each.sum()))
    assert effect(*[100] * 14, more='period = "week"') == 2
    assert effect(*[100] * 14, more='period = "once"') == 1
    assert Repeats().effect == Repeats((0,)).effect == 1


def test_composed_survey_asks_a_device_seldom_for_one_metric() -> None:
    toml = "".join(f'[metrics.{name}]\ntype = "boolean"\nepsilon = 1.0\none_of = "looks"\n' for name in "ab")
    days = [(DAY, 400), (DAY + timedelta(days=1), 400)]
    assert Repeats.of(parse_metrics(toml)["a"], days).effect == 1.5


def test_covariance_of_two_versions_assumes_the_people_of_the_smaller_days() -> None:
    assert Repeats((100, 50)).overlap(Repeats((80,))) == (80 + 50) / (150 * 80)
    assert Repeats((100,)).overlap(Repeats()) == 0


Given = tuple[Fraction, Fraction]
"""The probability of what a device memoises, and the chance that its report supports value 0 given that."""

LASTING: list[Mechanism] = [
    RandomizedResponse.calibrate(3, 1.0, 2.0),
    LocalHashing.calibrate(3, 0.5, 2.0),
    SetResponse.calibrate(3, 3.0, 5.0, window=2),
]


def kept(mechanism: Mechanism, item: int) -> Iterator[Given]:
    """Enumerate cohorts that speak of value 0, and permanent symbols of an item in these."""
    once, forever = mechanism.truth, mechanism.permanent_truth  # type: ignore[attr-defined]  # of chains of symbols
    chain = symbol_chain(mechanism.cells, once, forever)
    first, last = chain.permanent, chain.instant
    assert first is not None
    speaking = [cohort for cohort in range(mechanism.cohorts) if mechanism.supporting(0, cohort)]
    for cohort, symbol in product(speaking, range(mechanism.cells)):
        (marked,) = mechanism.marked(item, cohort)
        drawn = first.truth if symbol == marked else first.lie
        own = mechanism.supporting(0, cohort)
        support = sum((last.truth if cell == symbol else last.lie for cell in own), Fraction())
        yield drawn / len(speaking), support


@pytest.mark.parametrize("mechanism", LASTING, ids=lambda m: m.name)
def test_two_reports_of_a_device_share_what_the_permanent_stage_has(mechanism: Mechanism) -> None:
    """By enumeration in fractions: their covariance, and the third moment of the mean of three, of a share of 3/10."""
    stage = mechanism.permanent_stage
    assert stage is not None
    p, q = mechanism.p, mechanism.q
    sets = mechanism.items.sets
    holders = [(SHARE, item, v) for item, v in ([(1, 1)] if sets else [(0, 1)])]
    others = [(1 - SHARE, item, 0) for item in ((2,) if sets else (1,))]
    law = [(w * chance, (s - q) / (p - q)) for w, item, _ in holders + others for chance, s in kept(mechanism, item)]
    assert sum(weight for weight, _ in law) == 1
    covariance = sum((weight * y**2 for weight, y in law), Fraction()) - SHARE**2
    high, low = stage.p, stage.q
    gap = high - low
    formula = low * (1 - low) / gap**2 + SHARE * (1 - high - low) / gap + SHARE * (1 - SHARE)
    if mechanism.name != "local-hashing":  # whose permanent truth is rounded to 2^-64
        assert covariance == formula
    assert float(covariance) == pytest.approx(float(formula), rel=1e-12)
    found = shared_variance(mechanism, ONE, 1 / float(mechanism.coverage))
    assert float(found[0]) == pytest.approx(float(covariance), rel=1e-12)
    support = [(weight, q + y * (p - q), SHARE) for weight, y in law]
    people = third_moment(mechanism, ONE, np.array([3.0]), 3.0, sampled=True)
    assert float(people[0]) == pytest.approx(third_of_three(support, p, q), rel=1e-9)
    answers = [
        (weight * kept_with, chance, Fraction(answer))
        for weight, item, answer in holders + others
        for kept_with, chance in kept(mechanism, item)
    ]
    alone = third_moment(mechanism, ONE, np.array([3.0]), 3.0, sampled=False)
    assert mechanism.coverage < 1 or float(alone[0]) == pytest.approx(third_of_three(answers, p, q), rel=1e-9)


def third_of_three(law: list[tuple[Fraction, Fraction, Fraction]], p: Fraction, q: Fraction) -> float:
    """Return the third moment of the mean of three reports of one device about a share.

    The law has the probability of each kind of device, the chance that its report supports the value, and the share.
    """
    moment = Fraction()
    for (weight, chance, share), (seen, ways) in product(law, enumerate((1, 3, 3, 1))):
        likely = weight * ways * chance**seen * (1 - chance) ** (3 - seen)
        moment += likely * ((Fraction(seen, 3) - q) / (p - q) - share) ** 3
    return float(moment)


def test_without_permanent_draws_reports_of_a_device_share_who_it_is() -> None:
    mechanism = RandomizedResponse.calibrate(3, 1.0)
    p, q = mechanism.p, mechanism.q
    people = third_moment(mechanism, ONE, np.array([3.0]), 3.0, sampled=True)
    third = third_of_three([(SHARE, p, SHARE), (1 - SHARE, q, SHARE)], p, q)
    assert float(people[0]) == pytest.approx(third, rel=1e-9)
    windows = SetResponse.calibrate(3, 3.0, window=2)
    once, again = (third_moment(windows, ONE, np.array([3.0]), times, sampled=False) for times in (1.0, 3.0))
    assert once == again, "the noise and the window of each report are its own"


@pytest.mark.parametrize("repeats", [1, 1.5])
def test_intervals_of_different_people_are_exact_and_those_of_the_same_contain_them(repeats: float) -> None:
    mechanism, counts = RandomizedResponse.calibrate(2, 1.0), np.array([[975, 25]])
    reports = np.full(2, 1000)
    again = Repeats((750, 250)) if repeats > 1 else Repeats((1000,))
    found = estimate(mechanism, ("no", "yes"), Tally(reports[:1], counts, again))
    assert found.repeats == repeats
    low, high = exact_interval(mechanism, counts[0], reports, 0.05)
    if repeats > 1:
        sampled = noise_law(mechanism, repeats).sampled()

        def skewness(at: np.ndarray) -> np.ndarray:
            moment = third_moment(mechanism, at, reports, repeats, sampled=True)
            return np.asarray(moment / sampled.error(at, reports) ** 3)

        same = score_interval(sampled, found.frequency, reports, 0.05, 0.0, skewness)
        assert not np.allclose(same, (low, high), rtol=1e-3)
        people = people_interval((Fraction(1), Fraction(0)), found.frequency, reports / repeats, 0.05)
        low, high = np.minimum.reduce([low, same[0], people[0]]), np.maximum.reduce([high, same[1], people[1]])
    assert np.allclose((found.low, found.high), (low, high), rtol=1e-12)


def test_interval_of_people_with_permanent_draws_is_that_of_one_report_each() -> None:
    mechanism, people = RandomizedResponse(size=2, truth=Fraction(3, 4)), np.array([20.0])
    found = people_interval((mechanism.p, mechanism.q), np.array([0.7]), people, 0.05)
    assert np.allclose(found, exact_interval(mechanism, np.array([12.0]), people, 0.05), rtol=1e-12)


def test_regression_adds_the_sampling_of_people_for_each_further_report() -> None:
    """Var f̂ grows by (D - 1) f (1 - f) / n, so does that of the unlisted share; both ends move in proportion."""
    mechanism, rng, reports = (
        Rappor.calibrate(None, 4.0, bits=32, hashes=2, cohorts=4),
        np.random.default_rng(1),
        40_000,
    )
    listed, held = ("a", "b", "c"), np.array([0.5, 0.2, 0.1])
    marks = [marks_of(("a", "b", "c", "d"), 4, 32, 2)[cohort] for cohort in range(4)]
    counts = np.full((4, 32), float(mechanism.b))
    for cohort, positions in enumerate(marks):
        for place, share in enumerate((*held, 0.2)):
            counts[cohort, np.unique(positions[:, place])] += share * float(mechanism.a - mechanism.b)
    tally = np.full(4, reports // 4), rng.binomial(reports // 4, counts)
    once, twice = (estimate(mechanism, listed, Tally(*tally, days)) for days in (Repeats(), Repeats((20_000,) * 2)))
    share = np.clip(once.frequency, 0, 1)
    assert twice.repeats == 2
    wider = np.sqrt(once.standard_error**2 + share * (1 - share) / reports)
    assert twice.standard_error == pytest.approx(wider)
    ratio = wider / once.standard_error
    assert once.frequency - twice.low == pytest.approx(ratio * (once.frequency - once.low))
    assert twice.high - once.frequency == pytest.approx(ratio * (once.high - once.frequency))
    assert once.unlisted is not None
    assert twice.unlisted is not None
    rest = once.unlisted.frequency
    added = twice.unlisted.standard_error**2 - once.unlisted.standard_error**2
    assert added == pytest.approx(rest * (1 - rest) / reports)


@pytest.mark.parametrize(
    "mechanism",
    [
        *LASTING,
        OptimizedUnary.calibrate(4, 1.0, 2.0),
        PrivSet.calibrate(6, 1.0, 2.0, at_most=2),
        BitFlip.calibrate(6, 1.0, 3),
    ],
    ids=lambda m: m.name,
)
def test_permanent_stage_has_the_permanent_law_and_loss(mechanism: Mechanism) -> None:
    stage = mechanism.permanent_stage
    assert stage is not None
    assert stage.ratio == mechanism.permanent_ratio
    assert mechanism.permanent_law == (stage.a, stage.b)
    assert stage.cohorts == mechanism.cohorts
    assert RandomizedResponse.calibrate(3, 1.0).permanent_stage is None


def test_two_numbers_of_a_device_share_the_score_of_the_permanent_cell() -> None:
    """By enumeration in fractions, for uniform answers: everything but the noise of one report."""
    mechanism = DitheredResponse.calibrate(None, 1.0, 2.0, steps=2, resolution=3)
    chain = symbol_chain(3, mechanism.truth, mechanism.permanent_truth)
    first, last, (m, d) = chain.permanent, chain.instant, (2, 3)
    assert first is not None
    gap = mechanism.p - mechanism.q

    def score(cohort: int, cell: int) -> Fraction:
        return ((cell - Fraction(m, 2)) / gap + Fraction(m, 2) + (Fraction(d - 1, 2) - cohort) / d) / m

    points, second = range(m * d + 1), Fraction()
    for point, cohort, cell in product(points, range(d), range(m + 1)):
        likely = (first.truth if cell == (point + cohort) // d else first.lie) / d / len(points)
        mean = sum((last.truth if one == cell else last.lie) * score(cohort, one) for one in range(m + 1))
        second += likely * mean**2
    shared = float(second - Fraction(1, 4))
    counts = np.array([
        [
            sum(float(mechanism.p if cell == (point + cohort) // d else mechanism.q) for point in points) * 10**6
            for cell in range(m + 1)
        ]
        for cohort in range(d)
    ]).astype(np.int64)  # fmt: skip
    law, tally = law_of(mechanism), Tally(counts.sum(axis=1), counts)
    variance = law.scores(tally).variance
    assert variance - law.noise_variance(tally) + law.permanent_variance(tally) == pytest.approx(shared, rel=1e-5)
    again = Tally(tally.reports, tally.counts, Repeats((tally.total // 3,) * 3))
    once, thrice = (estimate_number(law, one).mean for one in (tally, again))
    assert thrice.standard_error**2 == pytest.approx(once.standard_error**2 + 2 * shared / tally.total, rel=1e-5)


@pytest.mark.parametrize("permanent", [None, 6.0])
def test_intervals_hold_where_the_same_people_report_every_day(permanent: float | None) -> None:
    """1,000 devices on 30 days at ε = 4: 95% of 2,000 surveys hold the share, within 2.5 points once in 10^6."""
    mechanism, rng = RandomizedResponse.calibrate(2, 4.0, permanent), np.random.default_rng(5)
    surveys, people, days = 2_000, 1_000, 30
    chain = symbol_chain(2, mechanism.truth, mechanism.permanent_truth)
    first, last = (float(each.truth) if each else 1.0 for each in (chain.permanent, chain.instant))
    yes = rng.binomial(people, 0.3, surveys)
    lasting = rng.binomial(yes, first) + rng.binomial(people - yes, 1 - first)
    seen = rng.binomial(days * lasting, last) + rng.binomial(days * (people - lasting), 1 - last)
    p, q, reports = float(mechanism.p), float(mechanism.q), np.full(surveys, people * days)
    frequency = (seen / reports - q) / (p - q)
    for law, truth in ((noise_law(mechanism, days).sampled(), 0.3), (noise_law(mechanism, days), yes / people)):
        low, high = score_interval(law, frequency, reports, 0.05)
        assert 0.925 < np.mean((low <= truth) & (truth <= high)) < 0.975
    tally = Tally(reports[:1], np.array([[reports[0] - seen[0], seen[0]]]), Repeats((people,) * days))
    found = estimate(mechanism, ("no", "yes"), tally)
    low, high = score_interval(noise_law(mechanism, days).sampled(), frequency[:1], reports[:1], 0.05)
    assert found.high[1] - found.low[1] == pytest.approx(high[0] - low[0], rel=0.05)


@pytest.mark.parametrize(("epsilon", "permanent", "people"), [(4.0, 5.0, 20), (3.0, 4.0, 10), (4.0, None, 20)])
def test_intervals_of_few_people_hold_although_one_of_them_counts_for_thirty_reports(
    epsilon: float, permanent: float | None, people: int
) -> None:
    """By enumeration; by normal laws alone, 88 and 90% hold for permanent draws, and 85% of the noise's."""
    mechanism, days = RandomizedResponse.calibrate(2, epsilon, permanent), 30
    chain = symbol_chain(2, mechanism.truth, mechanism.permanent_truth)
    first, last = (float(each.truth) if each else 1.0 for each in (chain.permanent, chain.instant))
    support, yes = np.arange(people * days + 1), np.arange(people + 1)
    given = np.array([
        np.convolve(
            stats.binom.pmf(np.arange(days * one + 1), days * one, last),
            stats.binom.pmf(np.arange(days * (people - one) + 1), days * (people - one), 1 - last),
        )
        for one in yes
    ])  # fmt: skip
    p, q, reports = float(mechanism.p), float(mechanism.q), np.full(len(support), people * days)
    low, high = share_interval(mechanism, (support / reports - q) / (p - q), reports, 0.05, repeats=days, sampled=True)
    for share in (0.0, 0.05, 0.3, 0.5):
        likely = stats.binom.pmf(yes, people, 1 - first + share * (2 * first - 1)) @ given
        assert likely[(low <= share) & (share <= high)].sum() > 0.94
    noise = share_interval(mechanism, (support / reports - q) / (p - q), reports, 0.05, repeats=days, sampled=False)
    assert np.isnan(noise).all() == (permanent is not None)


@pytest.mark.parametrize("permanent", [None, 6.0])
def test_shares_of_a_number_hold_where_the_same_people_report_every_day(permanent: float | None) -> None:
    """1,000 devices on 30 days at ε = 4, 150 surveys: at least 85% at every point, else once in 10^6 at 95%."""
    mechanism = DitheredResponse.calibrate(None, 4.0, permanent, steps=4, resolution=4)
    chain, rng, size = symbol_chain(5, mechanism.truth, mechanism.permanent_truth), np.random.default_rng(7), 17
    first, last = (0.0 if each is None else float(1 - each.truth) for each in (chain.permanent, chain.instant))
    shares = np.full(size, 1 / size)
    truth, held, means = np.cumsum(shares)[:-1], np.zeros(size - 1), 0

    def other(cells: np.ndarray, chance: float) -> np.ndarray:
        return np.where(rng.random(cells.shape) < chance, (cells + rng.integers(1, 5, cells.shape)) % 5, cells)

    for _ in range(150):
        points = np.repeat(rng.choice(size, 1000, p=shares)[:, np.newaxis], 30, axis=1)
        phases = rng.integers(4, size=(1000, 1 if permanent else 30)) + np.zeros((1000, 30), dtype=np.int64)
        cells = (points + phases) // 4
        if permanent:  # one draw for each device
            cells[:] = other(cells[:, :1], first)
        counts = np.zeros((4, 5), dtype=np.int64)
        np.add.at(counts, (phases, other(cells, last)), 1)
        found = estimate_number(law_of(mechanism), Tally(counts.sum(axis=1), counts, Repeats((1000,) * 30)))
        held += (found.cuts.low[1:-1] <= truth) & (truth <= found.cuts.high[1:-1])
        means += found.mean.low <= 0.5 <= found.mean.high
    assert held.min() / 150 > 0.85
    assert means / 150 > 0.85


def test_people_in_both_rows_of_a_sketch_are_in_the_error_of_a_frequent_string() -> None:
    """Without permanent draws the noise of reports does not depend on whose these are, and who is asked counts once."""
    sketch, people = ProjectiveSketch.calibrate(None, 2.0), Population(("a", "b"), np.array([1_500, 1_500]))
    once = tally_of(sketch, people, np.random.default_rng(1))
    alone = estimate(sketch, ("a", "b"), once)
    share, error = alone.frequency, alone.standard_error
    assert alone.low == pytest.approx(share - 1.96 * error, rel=1e-5)
    assert alone.high == pytest.approx(share + 1.96 * error, rel=1e-5)
    for repeats, days in ((10, (300,) * 10), (1.5, (2_250, 750))):
        same = estimate(sketch, ("a", "b"), Tally(once.reports, once.counts, Repeats(days)))
        assert same.repeats == repeats
        assert same.noise_error == pytest.approx(alone.noise_error, rel=0.02)
        added = same.standard_error**2 - error**2
        assert added == pytest.approx((repeats - 1) * share * (1 - share) / 3_000, rel=0.05)
        low, high = share_interval(sketch, same.frequency, np.full(2, 3_000.0), 0.05, repeats=repeats, sampled=True)
        assert (same.low <= low + 1e-12).all()
        assert (same.high >= high - 1e-12).all(), "nor is it narrower than that of few people, of which some are missed"


def test_people_in_both_rows_are_in_the_error_of_a_string_that_is_discovered() -> None:
    """So is who is asked in all reports, though only those of the last level tell: each person's are in all levels."""
    sketch = PrefixSketch.calibrate(None, 4.0, characters=4, length=2, buckets=64)
    spelling, people = Spelling(bytes(range(1, 5)), bytes((0, 5))), Population(("\1\2", "\3\4"), np.array([3_000] * 2))
    once = tally_of(sketch, people, np.random.default_rng(1))
    again = Tally(once.reports, once.counts, Repeats((600,) * 10))
    alone, same = (discover(sketch, spelling, tally) for tally in (once, again))
    assert sorted(alone.items) == sorted(same.items) == [b"\1\2", b"\3\4"]
    share = alone.frequency
    assert same.standard_error**2 - alone.standard_error**2 == pytest.approx(9 * share * (1 - share) / 6_000, rel=0.05)
