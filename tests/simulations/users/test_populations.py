import gzip
from pathlib import Path

import numpy as np
import pytest

from dither_shared import DiscoveryQuestion, ParameterError, Rappor, SymmetricUnary
from dither_simulations.choices import MAX_USERS
from dither_simulations.mechanism_by_name import named_discovery
from dither_simulations.users.populations import (
    EMPTY,
    Distribution,
    Population,
    apportion,
    items_of,
    listed,
    made_up,
    numbered,
    read_column,
    read_histogram,
    spelled,
    zipf,
)

TABLE = "age,job\n39,clerk\n50,farmer\n\n28, clerk \n17,\n"


def write(folder: Path, text: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("users", [0, 7, MAX_USERS])
@pytest.mark.parametrize("weights", [zipf(100, 1.1), 0.5 ** np.arange(50)], ids=["zipf", "geometric"])
def test_apportioned_users_add_up_and_are_within_one_of_their_quota(weights: np.ndarray, users: int) -> None:
    counts = apportion(weights, users)
    assert int(counts.sum()) == users
    assert (np.abs(counts - users * weights / weights.sum()) < 1 + users * 1e-15).all()


def test_users_are_apportioned_by_largest_remainder() -> None:
    # Quotas 1.6, 1.3, 1.1: one user is left over and goes to the first.
    assert apportion(np.array([1.6, 1.3, 1.1]), 4).tolist() == [2, 1, 1]
    assert apportion(np.array([1.1, 1.3, 1.6]), 4).tolist() == [1, 1, 2]


def test_weights_and_users_that_are_no_distribution_are_refused() -> None:
    for weights in ([0.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]):
        with pytest.raises(ParameterError, match="distribution"):
            apportion(np.array(weights), 10)
    for users in (-1, MAX_USERS + 1):
        with pytest.raises(ParameterError, match="users"):
            apportion(np.ones(3), users)


def test_distributions_have_the_shape_they_are_named_for() -> None:
    assert Distribution("zipf", 2.0).weights(3).tolist() == [1, 1 / 4, 1 / 9]
    assert Distribution("geometric", ratio=0.5).weights(3).tolist() == [1, 0.5, 0.25]
    assert Distribution("uniform").weights(3).tolist() == [1, 1, 1]


def test_a_drawn_population_repeats_with_its_seed_and_follows_the_weights() -> None:
    one, two = (Population.drawn(numbered(3), np.array([3.0, 1.0, 0.0]), 4000, np.random.default_rng(5)) for _ in "ab")
    assert one.counts.tolist() == two.counts.tolist()
    assert one.users == 4000
    assert one.counts[2] == 0
    # Bin(4000, 3/4) is outside 3000 ± 137 (five standard deviations) with probability below 6e-7.
    assert abs(one.counts[0] - 3000) < 137


def test_the_rare_are_merged_into_the_catch_all_which_is_there_even_if_no_one_needs_it() -> None:
    for population, labels, counts in (
        (Population(("a", "b", "other", "c"), np.array([2, 9, 5, 1])).top(2), ("b", "a", "other"), [9, 2, 6]),
        (Population(("a", "b"), np.array([1, 2])).top(5), ("b", "a", "other"), [2, 1, 0]),
    ):
        assert (population.labels, population.counts.tolist()) == (labels, counts)


def test_items_of_a_population_are_indices_or_bytes() -> None:
    assert items_of(SymmetricUnary.calibrate(2, 1.0), ("ä", "b")) == (0, 1)
    assert items_of(Rappor.calibrate(None, 1.0), ("ä", "b")) == ("ä".encode(), b"b")


@pytest.mark.parametrize("zipped", [False, True])
def test_a_column_is_counted_one_row_a_user(tmp_path: Path, zipped: bool) -> None:
    path = write(tmp_path, TABLE)
    if zipped:
        path = tmp_path / "people.csv.gz"
        path.write_bytes(gzip.compress(TABLE.encode()))
    population = read_column(path, "job")
    assert population.labels == ("clerk", EMPTY, "farmer")
    assert population.counts.tolist() == [2, 1, 1]


def test_a_histogram_adds_up_the_weights_of_a_value(tmp_path: Path) -> None:
    labels, weights = read_histogram(write(tmp_path, "value,share\na,1.5\nb,2\na,1\n"), "value", "share")
    assert labels == ("a", "b")
    assert weights.tolist() == [2.5, 2.0]


@pytest.mark.parametrize("weight", ["many", "-1"])
def test_a_weight_that_is_no_number_is_named(tmp_path: Path, weight: str) -> None:
    with pytest.raises(ParameterError, match=f"row 2: '{weight}'"):
        read_histogram(write(tmp_path, f"value,share\na,{weight}\n"), "value", "share")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"job\n", "is empty"),
        (b"wage\n3\n", "column: 'job' is not in .*people.csv; its columns: wage"),
        (b"", "columns: none"),
        (b"job\n\xff\xfe\n", "not UTF-8"),
        (b"age,job\n1\n", "row 2 has 1"),
        (b"\x1f\x8bnot gzip at all", "cannot be read"),
        (gzip.compress(TABLE.encode() * 99, mtime=0)[:-20], "cannot be read"),
    ],
)
def test_a_file_without_answers_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=problem):
        read_column(path, "job")


def test_made_up_strings_differ_and_are_always_the_same() -> None:
    words = made_up(5_000, "ab", 14)
    assert len(set(words)) == len(words) == 5_000
    assert {len(word) for word in words} == {14}
    assert made_up(100, "ab", 14) == words[:100]
    assert len(made_up(100, "ab", 2)) == 4, "there are no more"


def test_list_of_candidates_holds_all_answers_and_others() -> None:
    candidates = listed(("x", "y"), 5)
    assert candidates[:2] == ("x", "y")
    assert len(set(candidates)) == 5


def test_strings_that_are_spelled_alike_count_together() -> None:
    question = DiscoveryQuestion("a-c", 3)
    mechanism = named_discovery("prefix-sketch", question, 1.0)
    people = spelled(question, mechanism, ("ab", "x", "cab", "?"), np.array([0.5, 0.125, 0.25, 0.125]))
    assert np.allclose(people.shares, [0.5, 0.25, 0.25])
    items = items_of(mechanism, people.labels)
    assert [question.text(item) for item in items if isinstance(item, bytes)] == ["ab", "…", "cab"]
