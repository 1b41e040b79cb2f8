"""Write a result whole: a reader sees the old file or the new one, never half of either."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from dither_shared.errors import ParameterError

__all__ = ["same_file", "write_whole"]


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are known to be of one file."""
    try:
        return one.samefile(other)
    except OSError:  # one is missing, or in a circle of links
        return False


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by ``content`` in one step.

    It keeps its permissions, and a new one has those that the umask leaves. A symbolic link stays one; a pipe or a
    device is written to. Raises ParameterError if it cannot be written.
    """
    try:
        if _is_special(path):
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise ParameterError(str(path), f"cannot be written: {error.strerror}") from None


def _is_special(path: Path) -> bool:
    """Return whether a path is there and is no plain file; raise OSError for links in a circle."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
