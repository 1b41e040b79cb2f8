"""Write Markdown: text without markup, and tables."""

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "plain", "table"]

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|$#~])")


def plain(text: str) -> str:
    """Return text that means itself in Markdown, on one line; text in double backticks is code."""
    parts = re.split(r"``(.+?)``", " ".join(text.split()))
    return "".join(code(part) if number % 2 else _MARKUP.sub(r"\\\1", part) for number, part in enumerate(parts))


def code(text: str) -> str:
    """Return text as code, also in a cell of a table."""
    ticks = "``" if "`" in text else "`"
    return f"{ticks}{text}{ticks}".replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
