import struct
import zlib

import pytest

from dither_server.store import Upload
from dither_server.store.spool.groups import group_of, read_groups
from dither_server.store.spool.records import number_of
from server.collecting import LAYOUT, METRICS, TODAY, VERSION, rows_of, upload
from server.store.spool.spooling import Row, rows_in

MARK = b"12345678"


def row_of(one: Upload) -> Row:
    return one.batch, bytes.fromhex(one.metric.version), number_of(TODAY), one.stratum, one.rows


def given(groups: int, size: int) -> list[list[Upload]]:
    metrics = [*METRICS.values()][:3]
    return [[upload(metrics[number % 3]) for number in range(size)] for _ in range(groups)]


def found_in(content: bytes) -> list[Row]:
    return rows_in(read_groups(MARK, content).records)


@pytest.mark.parametrize(("groups", "size"), [(1, 1), (20, 3), (2, 512)])
def test_groups_are_read_as_they_were_written(groups: int, size: int) -> None:
    uploads = given(groups, size)
    found = read_groups(MARK, b"".join(group_of(MARK, group, TODAY) for group in uploads))
    assert rows_in(found.records) == sorted(row_of(one) for group in uploads for one in group)
    assert not found.damaged


def test_strata_gateways_and_a_day_that_begins_are_kept() -> None:
    many = upload(VERSION, rows_of(VERSION, 10_000))
    strata = [upload(LAYOUT, rows_of(LAYOUT, 2, value="list"), stratum=place) for place in range(6)]
    day = TODAY.replace(day=21)
    content = group_of(MARK, [many, *strata], TODAY) + group_of(MARK, [strata[0]], day)
    one = row_of(strata[0])
    assert found_in(content) == sorted([*map(row_of, [many, *strata]), (*one[:2], number_of(day), *one[3:])])


def test_a_group_that_is_torn_at_any_byte_was_promised_to_nobody() -> None:
    first, second = (group_of(MARK, group, TODAY) for group in given(2, 2))
    for end in range(len(second)):
        for left in (second[:end], second[:end] + bytes(len(second) - end), bytes(end) + second[end:]):
            found = read_groups(MARK, first + left)
            whole = left == second
            assert (len(found.records.ids), found.damaged) == (4 if whole else 2, 0)
            assert found.end == len(first) + len(second) * whole
            assert read_groups(MARK, left).damaged == 0


def test_damage_before_a_whole_group_is_told_and_costs_one_group_alone() -> None:
    uploads = given(3, 1)
    first, second, third = (group_of(MARK, group, TODAY) for group in uploads)
    for place in range(len(second)):
        changed = bytearray(second)
        changed[place] ^= 1 + place % 255
        found = read_groups(MARK, first + changed + third)
        assert rows_in(found.records) == sorted(row_of(group[0]) for group in (uploads[0], uploads[2]))
        assert found.damaged == len(second)
        assert found.end == len(first + second + third)


def test_damage_to_the_last_two_groups_is_told() -> None:
    """The last but one was durable before the last was begun; so is the last where it does not begin as any does."""
    first, second, third = (group_of(MARK, group, TODAY) for group in given(3, 1))
    found = read_groups(MARK, first + flipped(second, 30) + flipped(third, 30))
    assert (len(found.records.ids), found.end, found.damaged) == (1, len(first), len(second + third))
    assert read_groups(MARK, first + flipped(second, 3)).damaged
    assert read_groups(MARK, first + second + b"another file").damaged
    assert not read_groups(MARK, first + flipped(second, 30)).damaged  # or was it torn?


def test_a_journal_under_the_name_of_another_is_told() -> None:
    content = b"".join(group_of(MARK, group, TODAY) for group in given(3, 1))
    assert read_groups(b"another!", content).damaged


def flipped(group: bytes, place: int) -> bytes:
    return group[:place] + bytes([group[place] ^ 1]) + group[place + 1 :]


@pytest.mark.parametrize(
    "body", [b"", bytes(5), b"\xff" * 6, struct.pack("<IH", 1, 0), struct.pack("<IH25xI", 1, 0, 9)]
)
def test_a_body_that_no_collector_writes_is_damage_though_its_checksum_is_right(body: bytes) -> None:
    checksum = zlib.crc32(body, zlib.crc32(struct.pack("<I", len(body))))
    (group,) = given(1, 1)
    found = read_groups(MARK, struct.pack("<8sII", MARK, len(body), checksum) + body + group_of(MARK, group, TODAY))
    assert rows_in(found.records) == [row_of(group[0])]
    assert found.damaged


def test_rows_that_look_like_a_group_are_none() -> None:
    """Who sends rows does not know the mark; but a group within a damaged one would be one with another mark."""
    hidden = group_of(b"87654321", given(1, 1)[0], TODAY)
    bearing = group_of(MARK, [Upload(bytes(16), METRICS["theme"], hidden)], TODAY)
    assert len(found_in(bearing)) == 1
    torn = read_groups(MARK, bearing[:-1])
    assert (len(torn.records.ids), torn.damaged) == (0, 0)
