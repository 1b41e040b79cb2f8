"""Numbers with the nouns that they count."""

import re
from pathlib import Path

from dither_shared.counted import counted

_HOUSE = Path(__file__).parents[2]
_NOUNS = "reports|batches|values|days|users|rows|metrics|files|segments|candidates|questions|steps|tests"
_PLURAL = re.compile(rf"""(?:[^A-Z{{]:,\}}|format\([^()]*\) \}}\}}) (?:{_NOUNS})\b""")
"""A number with separated thousands and a fixed plural behind it."""


def test_counted_noun_is_singular_for_one_and_thousands_are_separated() -> None:
    batches = [counted(number, "batch", "batches") for number in (0, 1, 12_345)]
    assert batches == ["0 batches", "1 batch", "12,345 batches"]
    assert [counted(number, "day") for number in (0, 1, 2)] == ["0 days", "1 day", "2 days"]


def test_no_text_for_people_puts_a_plural_behind_any_number() -> None:
    folders = ("shared", "client/dither", "server", "simulations")
    files = [file for folder in folders for kind in ("py", "html") for file in (_HOUSE / folder).rglob(f"*.{kind}")]
    assert len(files) > 300
    lines = {(file.name, line.strip()) for file in files for line in file.read_text("utf-8").splitlines()}
    plurals = {(name, line) for name, line in lines if _PLURAL.search(line)}
    assert {name for name, _ in plurals} == _NEVER_ONE, plurals


_NEVER_ONE = {"number_view.py", "shuffle_bounds.py", "card.py"}
"""Files with a fixed plural because the number is never 1, such as the reports that a mean needs."""
