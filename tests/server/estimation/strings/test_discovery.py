"""Discovery of unlisted strings: words of usual length, the smallest surveys, and no reports."""

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.planning import reach, reports_for
from dither_server.estimation.strings.discovery import Discovered, Spelling, discover
from dither_server.estimation.strings.selection import look_up
from dither_server.tally.tally import Tally
from dither_shared import ParameterError, PrefixSketch, ProjectiveSketch, RandomizedResponse
from dither_simulations.users.populations import Population, numbered
from server.estimation.strings.sketched import tally_of, zipf

CHARACTERS, LENGTH = 26, 8
SKETCH = PrefixSketch.calibrate(None, 3.0, characters=CHARACTERS, length=LENGTH, buckets=1 << 12)
SPELLING = Spelling(bytes(range(1, CHARACTERS + 1)), bytes((0, CHARACTERS + 1)))


def words(count: int) -> tuple[str, ...]:
    """Random items of one to eight letters, filled up with the end."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(1, CHARACTERS + 1, (2 * count, LENGTH))
    lengths = rng.integers(1, LENGTH + 1, 2 * count)
    drawn[np.arange(LENGTH) >= lengths[:, np.newaxis]] = 0
    return tuple(dict.fromkeys("".join(map(chr, row)) for row in drawn))[:count]


WORDS = words(400)


@pytest.fixture(scope="module")
def surveys() -> list[tuple[Population, Discovered]]:
    """Eight surveys of 300,000 people who hold one of 400 words."""
    rng = np.random.default_rng(20261122)
    people = [zipf(WORDS, 300_000, rng) for _ in range(8)]
    return [(population, discover(SKETCH, SPELLING, tally_of(SKETCH, population, rng))) for population in people]


def test_frequent_words_are_found_and_few_others(surveys: list[tuple[Population, Discovered]]) -> None:
    there = {word.encode() for word in WORDS}
    top = [word.encode() for word in WORDS[:4]]
    assert all(set(top) <= set(discovery.items) for _, discovery in surveys)
    found = [item in there for _, discovery in surveys for item in discovery.items]
    assert len(found) > 60
    assert found.count(False) <= 0.12 * len(found)


def test_discovered_words_are_ordered_by_share_with_intervals_that_cover(
    surveys: list[tuple[Population, Discovered]],
) -> None:
    """The share of all other strings is covered, too."""
    missed, held = list[bool](), 0
    for people, discovery in surveys:
        assert (np.diff(discovery.frequency) <= 0).all()
        score = -special.ndtri(0.05 * len(discovery.items) / discovery.tried / 2)
        assert discovery.high - discovery.frequency == pytest.approx(score * discovery.standard_error, rel=0.05)
        assert discovery.confirming < discovery.reports == 300_000
        assert 100 < discovery.size / len(discovery.items) < 300, "five numbers, and a short string"
        shares = dict(zip((label.encode() for label in people.labels), people.shares.tolist(), strict=True))
        there = np.array([shares.get(item, 0.0) for item in discovery.items])
        missed += ((there < discovery.low) | (discovery.high < there)).tolist()
        held += abs(discovery.unlisted - (1 - there.sum())) < 2 * discovery.unlisted_error
    assert np.mean(missed) <= 0.12
    assert held >= 3  # P[Bin(8, 0.95) < 3] = 4e-7


def test_share_found_half_the_time_is_the_stated_reach(surveys: list[tuple[Population, Discovered]]) -> None:
    """Of strings held by 1.6 times that share nearly all are found, of those held by half of it hardly any."""
    shares = np.array([people.shares for people, _ in surveys]) / reach(SKETCH, 300_000)
    found = np.array([[label.encode() in one.items for label in people.labels] for people, one in surveys])
    common, rare = found[shares > 1.6], found[(shares > 0.4) & (shares < 0.5)]
    assert min(len(common), len(rare)) > 25
    assert common.mean() > 0.9
    assert rare.mean() < 0.1


def test_discovery_of_no_or_few_reports_finds_nothing() -> None:
    rng = np.random.default_rng(2)
    discovery = discover(SKETCH, SPELLING, Tally.zero(SKETCH))
    assert (discovery.items, discovery.reports, discovery.tried) == ((), 0, 0)
    assert np.isnan(discovery.unlisted)
    few = [discover(SKETCH, SPELLING, tally_of(SKETCH, zipf(WORDS, 40, rng), rng)) for _ in range(4)]
    assert {found.reports for found in few} == {40}
    assert max(len(found.items) for found in few) <= 1
    assert any(found.tried and not found.items for found in few)
    tally = tally_of(SKETCH, zipf(WORDS, 1_000, rng), rng)
    seen = np.arange(SKETCH.cohorts) // SKETCH.rows != 1  # all levels but the second
    assert not discover(SKETCH, SPELLING, Tally(tally.reports * seen, tally.counts * seen[:, np.newaxis])).tried


def test_string_that_everyone_holds_is_found_even_if_empty_or_the_mark() -> None:
    rng = np.random.default_rng(3)
    for item in ("\0" * LENGTH, chr(CHARACTERS + 1) + "\0" * (LENGTH - 1), "\1" * (LENGTH - 1) + chr(CHARACTERS + 1)):
        discovery = discover(SKETCH, SPELLING, tally_of(SKETCH, Population((item,), np.array([20_000])), rng))
        assert discovery.items[0] == item.encode()
        assert discovery.frequency[0] > 0.9
        assert discovery.high[0] == 1.0
        (error,), score = discovery.standard_error, -special.ndtri(0.05 / discovery.tried / 2)
        assert discovery.low[0] <= discovery.frequency[0] - score * error + 1e-12


def test_progress_is_reported_level_by_level() -> None:
    seen: list[tuple[int, int]] = []
    discover(SKETCH, SPELLING, Tally.zero(SKETCH), progress=lambda level, levels: seen.append((level, levels)))
    levels = len(SKETCH.levels) + 1
    assert seen == [(level, levels) for level in range(1, levels + 2)]


def test_reach_is_that_of_rare_strings_where_reports_are_many() -> None:
    """Then only the noise counts, and the lesser of two rows asks for 0.2 standard errors more."""
    sketch = ProjectiveSketch.calibrate(None, 1.0)
    assert reach(sketch, 10**6) == pytest.approx(5.53 * (3.69 / 10**6) ** 0.5, rel=0.02)
    assert reach(sketch, 10**6, 1000) < reach(sketch, 10**6) == reach(sketch, 10**6, 10**6)
    assert reach(SKETCH, 400) == pytest.approx(reach(SKETCH, np.array([100, 400]))[1])
    word = PrefixSketch.calibrate(None, 1.0, characters=39, length=12)
    needed = reports_for(word, 0.01) or 0
    assert 0.95 * 0.01 < reach(word, needed) <= 0.01
    assert word.least_share(10**6) < reach(word, 10**6) < 1.2 * word.least_share(10**6)
    with pytest.raises(ParameterError, match="finds no strings"):
        reach(RandomizedResponse.calibrate(4, 1.0), 100)


def test_strings_that_share_buckets_are_not_found_with_any_number_of_reports() -> None:
    assert reports_for(ProjectiveSketch.calibrate(None, 1.0, buckets=64), 0.01) is None
    assert reach(SKETCH, np.array([0, 1])).min() > 1


def test_strings_of_a_list_are_found_half_the_time() -> None:
    """Of 40 surveys, where the others are rare; P[Bin(40, 1/2) < 6] = 7e-7."""
    rng = np.random.default_rng(20261124)
    mechanism, labels = ProjectiveSketch.calibrate(None, 1.0, buckets=1 << 11), numbered(500)
    users = reports_for(mechanism, 0.1, len(labels)) or 0
    shares, hits = np.array([0.1, *[0.9 / 200] * 200]), 0
    for _ in range(40):
        tally = tally_of(mechanism, Population.drawn(labels[:201], shares, users, rng), rng)
        hits += bool(look_up(mechanism, labels, tally, 0.95).found[0])
    assert 6 <= hits <= 34, "what is planned is no more than half"


AB = Spelling(b"\x01\x02", b"\x00\x03")


def test_every_prefix_of_a_length_is_listed_once() -> None:
    written = [bytes(prefix) for prefix in AB.everything(2)]
    assert sorted(written) == sorted(
        {b"\1\1", b"\1\2", b"\2\1", b"\2\2", b"\1\0", b"\2\0", b"\1\3", b"\2\3", b"\0\0", b"\3\0"}
    )
    assert len(AB.everything(3)) == 4 * 4 + 4 + 2  # two open symbols and any third, one and an end, an end at once
    assert AB.everything(0).shape == (1, 0)


def test_ended_strings_are_padded_when_prefixes_are_extended() -> None:
    grown = AB.extended(np.array([[1, 0], [2, 3], [1, 2]], dtype=np.uint8), 2)
    assert [bytes(prefix) for prefix in grown[:2]] == [b"\1\0\0\0", b"\2\3\0\0"]
    assert len(grown) == 2 + 2 * 4 + 2
    assert AB.extended(grown[:0], 3).shape == (0, 7)
