"""Format the output of commands: tables, paragraphs, JSON, and text from others, which must not control a terminal."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from operator import methodcaller

from dither_shared.counted import counted

from ..upload.attempts import UNANSWERED, Attempt

_WIDTH = 80


def plain(text: str, longest: int | None = None) -> str:
    """Return ``text``, cut to ``longest`` characters, with every character escaped that could control a terminal."""
    cut = text if longest is None or len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


def paragraph(text: str, head: str = "") -> str:
    """Return ``text`` after ``head`` in lines that fit a terminal, all indented alike."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as lines of aligned columns; the first row holds the names of the columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_json(value: object) -> str:
    """Return JSON of data with named fields, with dates and times in ISO 8601."""
    return json.dumps(_data(value), indent=2, default=methodcaller("isoformat"))


def _data(value: object) -> object:
    """Return the JSON data of a value: an object for anything with named fields."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(name): _data(one) for name, one in value.items()}
    return [_data(one) for one in value] if isinstance(value, list | tuple) else value


def attempt_text(attempt: Attempt, failures: int) -> str:
    """Return a line about the last upload and how many failed since the last success."""
    if attempt.result == UNANSWERED:
        rest = "; a later run will retry"
    else:
        rest = f" ({counted(failures, 'attempt')} failed since the last success)" if failures else ""
    return plain(f"last upload: {attempt.when:%Y-%m-%d %H:%M}, to {attempt.endpoint}: {attempt.result}{rest}")
