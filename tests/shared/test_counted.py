"""Numbers with the nouns that they count."""

import re
from pathlib import Path

import pytest

from dither_shared.counted import counted

_HOUSE = Path(__file__).parents[2]
_NOUNS = "reports|batches|values|days|users|rows|metrics|files|segments|candidates|questions|steps|tests"
_PLURAL = re.compile(rf"""(?:[^A-Z{{]:,\}}|format\([^()]*\) \}}\}}) (?:{_NOUNS})\b""")
"""A number with separated thousands and a fixed plural behind it."""


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 batches"), (1, "1 batch"), (2, "2 batches"), (12_345, "12,345 batches")]
)
def test_counted_noun_is_singular_for_one_and_thousands_are_separated(number: int, text: str) -> None:
    assert counted(number, "batch", "batches") == text


def test_regular_plural_needs_no_argument() -> None:
    assert [counted(number, "day") for number in (0, 1, 2)] == ["0 days", "1 day", "2 days"]


def test_a_verb_goes_with_its_noun() -> None:
    assert counted(1, "segment waits", "segments wait") == "1 segment waits"


def test_no_text_for_people_puts_a_plural_behind_any_number() -> None:
    folders = ("shared", "client/dither", "server", "simulations")
    files = [file for folder in folders for kind in ("py", "html") for file in (_HOUSE / folder).rglob(f"*.{kind}")]
    assert len(files) > 300
    lines = {(file.name, line.strip()) for file in files for line in file.read_text("utf-8").splitlines()}
    plurals = {(name, line) for name, line in lines if _PLURAL.search(line)}
    assert {name for name, _ in plurals} == _NEVER_ONE, plurals


_NEVER_ONE = {"number_view.py", "shuffle_bounds.py", "card.py"}
"""Files with a fixed plural because the number is never 1, such as the reports that a mean needs."""
