"""Replace a folder atomically: a reader sees the old site or the new one, never parts of both.

The new folder is written next to the old one, as ``.NAME.new``, and exchanged with it in one step. On systems without
such a step it takes two renames. A run that is stopped between them leaves the old folder as ``.NAME.old``, and the
next run puts it back first.

A lock on the new folder refuses a second run at the same time. The folder keeps its lock when it takes the old one's
place, until everything is cleaned up; therefore a run locks the published folder, too.

Only files that this module wrote are ever removed: a published folder holds a list of its files.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from dither_shared import DitherError, ParameterError

if sys.platform != "win32":
    import fcntl

LIST = ".dither-site"
"""The file that identifies a published folder."""

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""

_SAYS = "dither-server publish made this folder, and replaces it whole. It wrote:"


class NewFolder:
    """A folder that is being written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: list[str] = []

    @property
    def files(self) -> int:
        """The number of files written."""
        return len(self._written)

    def write(self, name: str, pieces: Iterable[bytes]) -> str:
        """Write a file durably and return its name, a path below the folder with slashes."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        self._written.append(name)
        return name

    def finish(self) -> None:
        """Write the list of all files, and make all directory entries durable."""
        text = "\n".join([_SAYS, *sorted(self._written), ""])
        self.write(LIST, [text.encode()])
        for folder, _, _ in os.walk(self._folder):
            _sync(Path(folder))


@contextmanager
def replacing(out: Path, exchange: Callable[[Path, Path], bool] | None = None) -> Iterator[NewFolder]:
    """Yield a folder to write to, which takes the place of ``out`` unless something fails.

    ``exchange`` swaps the names of two folders, or returns False if it cannot; ``exchanged`` is taken for None.
    Raises ParameterError if ``out`` is neither an empty folder nor a published one; DitherError if the disk fails, or
    another process is publishing to it.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100 - resolve() would follow a symbolic link, which is to be refused
    _require_reasonable(out)
    new, old = (out.with_name(f".{out.name}.{which}") for which in ("new", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _require_ours(new, finished=False)
        for path in (old, out):
            _require_ours(path)
        new.mkdir(exist_ok=True)
        with _locked(new, out):
            try:
                with _locked(out, out) if out.exists() else nullcontext():
                    _recover(out, old)
                    _empty(new)
                    (new / LIST).write_text(f"{_SAYS}\n", encoding="utf-8")
                    fresh = NewFolder(new)
                    yield fresh
                    fresh.finish()
                    _require_ours(out)  # files that others put there in the meantime are not ours to remove
                    _swap(new, out, old, exchange or exchanged)
            finally:
                _remove(new)
    except OSError as error:
        raise DitherError(
            f"{out}: cannot be written ({error.strerror or error}); the previous site is unchanged"
        ) from None


def _swap(new: Path, out: Path, old: Path, exchange: Callable[[Path, Path], bool]) -> None:
    """Put the new folder in the place of the old one; if that fails, keep the old one."""
    there = out.exists()
    if there:
        new.chmod(out.stat().st_mode & 0o7777)
        if exchange(new, out):
            _sync(out.parent)
            return
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if there:
            old.rename(out)
        raise
    _sync(out.parent)
    _remove(old)


def exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return False if the system or the file system cannot.

    It is renameat2(2) of Linux with RENAME_EXCHANGE, which Python does not offer.
    """
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:  # a C library older than 2018, or musl before 1.2.5
        return False
    return bool(renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _recover(out: Path, old: Path) -> None:
    """Undo what a run left behind that was stopped between the two renames or after them."""
    if not os.path.lexists(old):
        return
    if os.path.lexists(out):
        _remove(old)
    else:
        old.rename(out)


def _require_reasonable(out: Path) -> None:
    """Raise ParameterError for the root and for the home directory."""
    if out == out.parent or out == Path.home():
        raise ParameterError(str(out), "cannot be the folder of a site; name a separate one, such as site/")


def _require_ours(path: Path, *, finished: bool = True) -> None:
    """Raise ParameterError unless a path is free, an empty folder, or a folder with only files that we wrote.

    If the folder is not ``finished``, its list of files may be incomplete.
    """
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_dir():
        what = "a symbolic link" if path.is_symlink() else "not a folder"
        raise ParameterError(str(path), f"is {what}; name a folder, or a path that does not exist yet")
    found = sorted(str(one.relative_to(path)) for one in _files(path))
    if not found:
        return
    if LIST not in found:
        raise ParameterError(
            str(path),
            f"holds {found[0]} and was not written by publish, so nothing was changed; name an empty folder, or a "
            f"new one",
        )
    listed = {LIST, *(path / LIST).read_text(encoding="utf-8", errors="replace").split("\n")[1:]}
    strange = [one for one in found if one not in listed]
    if strange and finished:
        raise ParameterError(
            str(path), f"holds {strange[0]}, which publish did not write and would remove: move it elsewhere"
        )


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files and links below a folder. Links are not followed."""
    for at, folders, files in os.walk(folder):
        yield from (Path(at, name) for name in files)
        yield from (Path(at, name) for name in folders if Path(at, name).is_symlink())


def _empty(folder: Path) -> None:
    """Remove all files except the list, so that an interrupted run leaves a folder that the next run recognizes."""
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        elif one.name != LIST:
            one.unlink()


def _remove(folder: Path) -> None:
    """Remove a folder that we wrote, if it exists. Files that cannot be removed are left to the next run."""
    with suppress(OSError):
        _empty(folder)
        (folder / LIST).unlink(missing_ok=True)
        folder.rmdir()


def _sync(folder: Path) -> None:
    """Make the entries of a folder durable, if the system can."""
    with suppress(PermissionError):  # Windows cannot open a directory
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; raise DitherError if another process holds it."""
    if sys.platform == "win32":
        yield
        return
    with ExitStack() as held:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.fstat(descriptor).st_ino == folder.stat().st_ino  # or it was moved in the meantime
        except (BlockingIOError, FileNotFoundError):
            ours = False
        if not ours:
            raise DitherError(f"{out}: another dither-server publish is writing it; try again when it has ended")
        yield
