"""Format the output of commands: tables, paragraphs, JSON, and text from others, which must not control a terminal."""

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from operator import methodcaller
from pathlib import Path

from dither_shared.errors import ParameterError
from dither_shared.languages import ENGLISH, Language

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
        return {str(name): _data(item) for name, item in value.items()}
    return [_data(item) for item in value] if isinstance(value, list | tuple) else value


def language_of(option: str) -> Language:
    """Return the language of an option: by its code, or by the texts of a TOML file. Raises ParameterError."""
    if not option.endswith(".toml"):
        return Language.of(option)
    try:
        return Language.of(dict(_flat(tomllib.loads(Path(option).read_text(encoding="utf-8")))))
    except OSError as error:
        raise ParameterError(option, f"cannot be read: {error.strerror}") from None
    except ParameterError as error:
        raise error.within(f"{option}: ") from None
    except ValueError as error:
        raise ParameterError(option, f"not TOML in UTF-8: {error}") from None


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of a table and of those in it, by their keys joined with dots."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def attempt_text(attempt: Attempt, failures: int, say: Language = ENGLISH) -> str:
    """Return a line about the last upload and how many failed since the last success."""
    where = {"when": f"{attempt.when:%Y-%m-%d %H:%M}", "endpoint": attempt.endpoint}
    if attempt.result == UNANSWERED:
        return plain(say("status.attempt.cut", **where))
    rest = f" {say.count('status.failures', failures)}" if failures else ""
    return plain(say("status.attempt", result=attempt.result, **where) + rest)
