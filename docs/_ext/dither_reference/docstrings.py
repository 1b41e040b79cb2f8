"""Docstrings as Sphinx reads them: indented lines are kept as they are, and | is no markup."""

import re
from collections.abc import Iterator, Sequence

__all__ = ["as_markup"]

_LITERAL = re.compile(r"(``.+?``)")


def as_markup(lines: Sequence[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText that means what they say."""
    return list(_marked(lines))


def _marked(lines: Sequence[str]) -> Iterator[str]:
    inside = False
    for before, line in zip(("", *lines), lines, strict=False):
        kept = line.startswith("    ")
        if kept and not inside and not before.strip():
            yield from ("::", "")
        inside = kept or (inside and not line.strip())
        yield line if inside else _escaped(line)


def _escaped(line: str) -> str:
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in _LITERAL.split(line))
