"""Tables and JSON, as the commands print them."""

import json
from collections.abc import Sequence
from operator import methodcaller

__all__ = ["as_json", "many", "table"]


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows, the first of which holds the columns' names, as lines of aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def many(count: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def as_json(value: object) -> str:
    """Return JSON for programs, with days and moments as in 2027-06-30."""
    return json.dumps(value, indent=2, default=methodcaller("isoformat"))
