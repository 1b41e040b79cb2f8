"""Make a sweep resumable: append the rows of each finished cell to a file, and sync it to disk.

A line is a JSON object. The first says to which sweep the file belongs; each other holds a cell's number and its rows.
A line that a crash cut short does not count, and the next one overwrites it.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither_shared import ParameterError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Journal:
    """The finished cells of the sweep with this ``identity``.

    Raises ParameterError if the file is of another sweep, or cannot be read or written.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.done: dict[int, list[dict[str, Any]]] = {}
        try:
            self._file = path.open("a+b")
            self._file.seek(0)
            content = self._file.read()
        except OSError as error:
            raise ParameterError(str(path), f"cannot be read and written: {error.strerror}") from None
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        self._read(whole, identity)

    def _read(self, whole: bytes, identity: str) -> None:
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines:
            self._write({"sweep": identity})
        elif lines[0] != {"sweep": identity}:
            self.close()
            raise ParameterError(
                str(self.path), "belongs to another sweep, which is unfinished; finish that one, or delete the file"
            )
        self.done = {line["cell"]: line["rows"] for line in lines[1:]}

    def append(self, cell: int, rows: Sequence["DataclassInstance"]) -> None:
        """Add a finished cell; it is on disk when this returns."""
        self._write({"cell": cell, "rows": [asdict(row) for row in rows]})

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False).encode("utf-8") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, and keep it for the next run."""
        self._file.close()

    def discard(self) -> None:
        """Remove the file, when the sweep is finished and its rows are written elsewhere."""
        self.close()
        self.path.unlink()
