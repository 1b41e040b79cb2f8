"""Files of vectors, and their bytes."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

Case = dict[str, object]
Cases = Callable[[], Iterable[Case]]

_START = '"cases": [\n'
"""What stands between the description of a file and its fields, which are written by hand, and its cases."""


def render(path: Path, cases: Cases) -> bytes:
    """Return a file with new cases: JSON in ASCII, with one case a line."""
    head, start, _ = path.read_text(encoding="ascii").partition(_START)
    lines = (json.dumps(case, ensure_ascii=True, allow_nan=False, separators=(",", ":")) for case in cases())
    return (head + start + ",\n".join(lines) + "\n]}\n").encode()
