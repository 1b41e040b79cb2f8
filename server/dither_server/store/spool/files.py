"""Files and folders of this machine that are there after a power cut, too, and the room for them."""

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["make_folder", "room_at", "sync_folder", "write_file"]


def make_folder(path: Path) -> None:
    """Make a folder and those above it, so that they are there after a power cut, too. Raises OSError."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is seen only when it is whole, durably. Raises OSError, and then leaves nothing.

    What a crash leaves goes when the file is written again. No two may write one of the same name at the same time.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb", buffering=0) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make durable which files are in a folder. Raises OSError."""
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _nearest(path: Path) -> Path:
    """Return a folder, or the nearest above it that is there already."""
    return next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())


def room_at(path: Path) -> int:
    """Return the bytes of room in a folder, or where it is to be. Raises OSError."""
    try:
        return shutil.disk_usage(path).free
    except FileNotFoundError:
        return shutil.disk_usage(_nearest(path)).free
