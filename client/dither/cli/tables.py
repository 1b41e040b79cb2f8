"""Format tables, lines and JSON for the commands to print."""

import json
from collections.abc import Sequence
from operator import methodcaller

from dither_shared.counted import counted

from ..upload.attempts import Attempt
from .plain import plain

__all__ = ["as_json", "attempt_text", "table"]


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows, the first of which holds the columns' names, as lines of aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_json(value: object) -> str:
    """Return JSON for programs, with days and moments as in 2027-06-30."""
    return json.dumps(value, indent=2, default=methodcaller("isoformat"))


def attempt_text(attempt: Attempt, failures: int) -> str:
    """Return a line on the last upload, and on how many failed since one succeeded."""
    failed = f" ({counted(failures, 'attempt')} failed since the last success)" if failures else ""
    return plain(f"last upload: {attempt.when:%Y-%m-%d %H:%M}, to {attempt.endpoint}: {attempt.result}{failed}")
