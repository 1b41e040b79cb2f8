"""Prefixes are spelled out in all ways there are, each once, and nothing follows an end."""

import numpy as np

from dither_server.estimation.strings.discovery import Spelling

AB = Spelling(b"\x01\x02", b"\x00\x03")


def test_all_prefixes_of_a_length_are_there_once() -> None:
    written = [bytes(one) for one in AB.everything(2)]
    assert sorted(written) == sorted(
        {b"\1\1", b"\1\2", b"\2\1", b"\2\2", b"\1\0", b"\2\0", b"\1\3", b"\2\3", b"\0\0", b"\3\0"}
    )
    assert len(AB.everything(3)) == 4 * 4 + 4 + 2  # two open symbols and any third, one and an end, an end at once
    assert AB.everything(0).shape == (1, 0)


def test_an_end_is_filled_up() -> None:
    grown = AB.extended(np.array([[1, 0], [2, 3], [1, 2]], dtype=np.uint8), 2)
    assert [bytes(one) for one in grown[:2]] == [b"\1\0\0\0", b"\2\3\0\0"]
    assert len(grown) == 2 + 2 * 4 + 2
    assert AB.extended(grown[:0], 3).shape == (0, 7)
