"""Where the files of a spool are: a folder, or an object store behind a URL that fsspec knows."""

import errno
import os
import re
import shutil
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from dither_server.store import StoreError, without_password
from dither_shared import ParameterError

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HERE = {"file", "local"}
"""Schemes of fsspec that mean this machine."""

_EXTRA = "the extra spool is not installed: pip install 'dither[spool]'"


class SpoolError(StoreError):
    """The spool cannot be read or written now, or a file of it is damaged; the message names the file."""

    public = "the spool cannot be written now, or is full"


class DamagedError(SpoolError):
    """A file of the spool is not as it was written."""


class BlobStore(ABC):
    """Files by kind and name. A kind is a folder of the store, such as ``segments`` or ``ids/07``.

    A store opens nothing before it is used, and can be pickled, because workers on other machines read the same store.
    Each method raises SpoolError, which names the file, if it fails. ``folder`` is the folder of this machine that
    holds the files, None for an object store.
    """

    folder: Path | None = None

    @abstractmethod
    def put(self, kind: str, name: str, content: bytes) -> None:
        """Write a file durably, replacing one of this name. Readers see the file only when it is whole."""

    @abstractmethod
    def open(self, kind: str, name: str) -> BinaryIO:
        """Open a file to read parts of it; the caller closes it. Raises FileNotFoundError if there is none."""

    @abstractmethod
    def delete(self, kind: str, name: str) -> None:
        """Delete a file, if it is there."""

    @abstractmethod
    def _sizes(self, kind: str) -> dict[str, int]:
        """Return the bytes of each whole file of a kind; none if the kind has no folder yet."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Return the free bytes, or None if the store has no known limit."""

    def names(self, kind: str) -> list[str]:
        """Return the names of all whole files of a kind, in order.

        A dangling link or a pipe is named, too, although it cannot be opened.
        """
        return sorted(self._sizes(kind))

    def bytes_of(self, kind: str) -> int:
        """Return the total size of all whole files of a kind."""
        return sum(self._sizes(kind).values())

    def read(self, kind: str, name: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if there is none."""
        with closing(self.open(kind, name)) as file, self._failing("read", kind, name):
            return file.read()

    @contextmanager
    def _failing(self, verb: str, *parts: str) -> Iterator[None]:
        """Turn errors into SpoolError, whatever an object store raises, except that there is no such file."""
        try:
            yield
        except (FileNotFoundError, SpoolError):
            raise
        except Exception as error:
            raise _failed("/".join((str(self), *parts)), verb, error) from None


def blob_store_at(where: str) -> BlobStore:
    """Return the store at a folder's path or a URL such as ``s3://bucket/spool``; ``file://`` is a folder, too.

    Raises ParameterError if fsspec does not know the kind of URL, or is not installed.
    """
    if not where or "\0" in where:
        raise ParameterError("spool", "not a folder, nor a URL such as s3://bucket/spool")
    require_no_tilde("spool", where)
    if not _URL.match(where):
        return Folder(Path(where).absolute())  # a worker may have another working folder
    parts = urlsplit(where)
    if parts.scheme.lower() in _HERE:
        return Folder(Path(unquote(parts.netloc + parts.path)))
    _check_scheme(parts.scheme)
    return ObjectStore(where.rstrip("/"))


@dataclass(frozen=True)
class Folder(BlobStore):
    """A folder of this machine, or of a volume that several machines share."""

    folder: Path

    def __str__(self) -> str:
        return str(self.folder)

    def put(self, kind: str, name: str, content: bytes) -> None:  # noqa: D102  # as the base class says
        try:
            make_folder(self.folder / kind)
            write_file(self.folder / kind / name, content)
        except OSError as error:
            raise _failed(self.folder / kind / name, "written", error) from None

    def open(self, kind: str, name: str) -> BinaryIO:  # noqa: D102
        with self._failing("read", kind, name):
            return open(self.folder / kind / name, "rb", opener=_open_regular)

    def delete(self, kind: str, name: str) -> None:  # noqa: D102
        with self._failing("deleted", kind, name):
            (self.folder / kind / name).unlink(missing_ok=True)

    def free_bytes(self) -> int | None:  # noqa: D102
        try:
            return free_bytes_at(self.folder)
        except OSError as error:
            raise _failed(self.folder, "asked for its free space", error) from None

    def _sizes(self, kind: str) -> dict[str, int]:
        sizes = {}
        try:
            with self._failing("listed", kind):
                for entry in os.scandir(self.folder / kind):
                    if not entry.is_dir() and entry.name[0] != ".":
                        sizes[entry.name] = _size(entry)
        except FileNotFoundError as error:
            if (self.folder / kind).is_symlink():  # to another disk, for example, which is not mounted
                raise _failed(self.folder / kind, "listed", error) from None
        return sizes


@dataclass(frozen=True)
class ObjectStore(BlobStore):
    """A folder of an object store, which shows an object only when it is complete."""

    url: str

    def __str__(self) -> str:
        return without_password(self.url)

    def put(self, kind: str, name: str, content: bytes) -> None:  # noqa: D102
        path = self._path(kind, name)
        try:
            try:
                self._files.pipe_file(path, content)
            except FileNotFoundError:  # fsspec's file systems with real folders need them made
                self._files.makedirs(self._path(kind), exist_ok=True)
                self._files.pipe_file(path, content)
            self._files.invalidate_cache()
            size = self._files.info(path)["size"]
        except Exception as error:
            raise _failed(f"{self}/{kind}/{name}", "written", error) from None
        if size != len(content):
            raise SpoolError(f"{self}/{kind}/{name}: {size} bytes of {len(content)} arrived")

    def open(self, kind: str, name: str) -> BinaryIO:  # noqa: D102
        with self._failing("read", kind, name):
            opened: BinaryIO = self._files.open(self._path(kind, name), "rb", cache_type="none")
        return opened

    def delete(self, kind: str, name: str) -> None:  # noqa: D102
        with suppress(FileNotFoundError), self._failing("deleted", kind, name):
            self._files.rm_file(self._path(kind, name))

    def free_bytes(self) -> int | None:  # noqa: D102
        return None

    def _sizes(self, kind: str) -> dict[str, int]:
        entries: list[dict[str, Any]] = []
        with suppress(FileNotFoundError), self._failing("listed", kind):
            entries = self._files.ls(self._path(kind), detail=True, refresh=True)
        return {entry["name"].rpartition("/")[2]: entry["size"] for entry in entries if entry["type"] == "file"}

    def _opened(self) -> tuple[Any, str]:
        """Return the file system and the path in it; fsspec caches file systems, in each process its own."""
        import fsspec  # noqa: PLC0415 - an extra, which a folder does without

        try:
            files, root = fsspec.core.url_to_fs(self.url)
        except Exception as error:  # a driver that is missing, or wrong credentials
            raise _failed(self, "opened", error) from None
        return files, root.rstrip("/")

    @property
    def _files(self) -> Any:
        return self._opened()[0]

    def _path(self, *parts: str) -> str:
        return "/".join((self._opened()[1], *parts))


def _size(entry: "os.DirEntry[str]") -> int:
    """Return the size of a file, 0 if a fold has deleted it. Raises OSError: an unknown size is not 0 bytes."""
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return 0


def require_no_tilde(name: str, path: str) -> None:
    """Raise ParameterError for a path that begins with ``~``: only a shell expands it."""
    if path.startswith("~"):
        raise ParameterError(name, f"{path}: ~ is not expanded here; write the whole path")


def make_folder(path: Path) -> None:
    """Make a folder and its parents durably. Raises OSError."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file durably and atomically. Raises OSError, and then leaves nothing.

    What a crash leaves goes when the file is written again. Two writers must not write the same name at the same time.
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
    """Make the list of files of a folder durable. Raises OSError."""
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def free_bytes_at(path: Path) -> int:
    """Return the free bytes of the disk that holds a folder, or will hold it once it is made. Raises OSError."""
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free


def _open_regular(path: str, flags: int) -> int:
    """Open a file; raise OSError for anything else, such as a pipe, which would wait for a writer."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file")
    return descriptor


def _check_scheme(scheme: str) -> None:
    try:
        import fsspec  # noqa: PLC0415 - an extra, which a folder does without
    except ImportError:
        raise ParameterError("spool", f"{scheme}:// is a URL, and {_EXTRA}") from None
    try:
        fsspec.get_filesystem_class(scheme)
    except (ValueError, ImportError) as error:
        raise ParameterError("spool", f"{scheme}:// cannot be used: {error}") from None


def _failed(where: object, verb: str, error: Exception) -> SpoolError:
    reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return SpoolError(f"spool: {where} cannot be {verb} ({reason})")
