"""A filter misses no id, and holds few others; it takes 12 bits of each."""

import random

import pytest

from dither_server.store.batch_ids.filters import Filters, filter_of, ids_of_filter

CHANCE = random.Random(1)


def test_a_filter_misses_none_and_holds_few_others() -> None:
    random_ids = [CHANCE.randbytes(16) for _ in range(60_000)]
    held, others = random_ids[:30_000], random_ids[30_000:]
    filters = Filters([filter_of(held), filter_of([]), filter_of(others[:1])])
    found = list(filters.may_hold(held))
    assert {place for day, place in found if day == 0} == set(range(30_000))
    wrong = sum(day == 0 for day, _ in filters.may_hold(others))
    # about 1 in 100; the error of 30,000 draws is 0.06 points, so 2 in 100 is more than 15 of these away
    assert wrong < 600
    assert not [day for day, _ in filters.may_hold(held + others[1:]) if day == 1]
    assert list(Filters().may_hold(held)) == list(filters.may_hold([])) == []


@pytest.mark.parametrize("count", [1, 16, 17, 1_000, 30_000])
def test_a_filter_has_12_bits_of_each_id_in_whole_words(count: int) -> None:
    size = len(filter_of([CHANCE.randbytes(16) for _ in range(count)]))
    assert 0 <= 8 * size - 12 * count < 64
    assert count <= ids_of_filter(size) <= count + 5


def test_an_id_sets_up_to_5_bits_of_one_word() -> None:
    """All 5 differ in 6 of 7 ids."""
    set_by = [int.from_bytes(filter_of([CHANCE.randbytes(16)]), "little").bit_count() for _ in range(100)]
    assert max(set_by) == 5


def test_a_filter_of_ids_that_somebody_chose_is_no_worse_for_others() -> None:
    chosen = [bytes(8) + number.to_bytes(8, "big") for number in range(10_000)]
    filters = Filters([filter_of(chosen)])
    assert len(list(filters.may_hold(chosen))) == 10_000
    assert sum(1 for _ in filters.may_hold([CHANCE.randbytes(16) for _ in range(10_000)])) < 20
