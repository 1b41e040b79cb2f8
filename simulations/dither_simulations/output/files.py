"""Write results whole: a reader sees the old file or the new one, never half of either."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dither_shared import ParameterError


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step. Raises ParameterError if it cannot be written."""
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ParameterError(str(path), f"cannot be written: {error.strerror}") from None


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, or as JSON if the name ends in .json: one row per line, columns in the order of the first."""
    encode = json_rows if path.suffix == ".json" else _csv
    write_bytes(path, encode(rows).encode("utf-8"))


def json_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a JSON array, one row per line."""
    return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer: csv.DictWriter[Any] = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _umask() -> int:
    """Return the process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
