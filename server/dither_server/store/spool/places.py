"""Where files of a spool are: a folder, or an object store behind a URL that fsspec knows."""

import errno
import os
import re
import stat
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from dither_shared import ParameterError

from ..errors import SpoolError
from ..url import without_password
from .files import make_folder, room_at, write_file

__all__ = ["Folder", "Place", "Url", "place_at", "require_no_tilde"]

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HERE = {"file", "local"}
"""Schemes of fsspec that mean this machine."""

_EXTRA = "the extra spool is not installed: pip install 'dither[spool]'"


class Place(ABC):
    """Files by kind and name. A kind is a folder in the place: ``segments``, ``runs``, ``database``, or one in ``ids``.

    It opens nothing before it is used, and may be pickled: workers on other machines read the same place. Each method
    raises SpoolError, which names the file, for what cannot be done now.
    """

    @abstractmethod
    def names(self, kind: str) -> list[str]:
        """Return the names of all whole files of a kind, in order; none if the kind has no folder yet.

        A link to what is gone and a pipe are named, too: they stand in the place of a file, and cannot be opened.
        """

    @abstractmethod
    def put(self, kind: str, name: str, content: bytes) -> None:
        """Write a file, in the place of one of this name. It is seen only when it is whole, and durable on return."""

    @abstractmethod
    def open(self, kind: str, name: str) -> BinaryIO:
        """Open a file to read parts of it; the caller closes it. Raises FileNotFoundError if there is none."""

    @abstractmethod
    def delete(self, kind: str, name: str) -> None:
        """Delete a file; one that is gone already is no error."""

    @abstractmethod
    def bytes_of(self, kind: str) -> int:
        """Return how many bytes all whole files of a kind take."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Return the room that is left, or None where nobody knows an end of it."""

    @abstractmethod
    def local(self) -> Path | None:
        """Return the folder that this is, or None if it is not on this machine."""


def place_at(where: str) -> Place:
    """Return the place at a folder's path or a URL such as ``s3://bucket/spool``; ``file://`` is a folder, too.

    Raises ParameterError for a URL of a kind that fsspec does not know, or where it is not installed.
    """
    if not where or "\0" in where:
        raise ParameterError("spool", "not a folder, nor a URL such as s3://bucket/spool")
    require_no_tilde("spool", where)
    if not _URL.match(where):
        return Folder(Path(where).absolute())  # a worker may have another working folder
    parts = urlsplit(where)
    if parts.scheme.lower() in _HERE:
        return Folder(Path(unquote(parts.netloc + parts.path)))
    _check(parts.scheme)
    return Url(where.rstrip("/"))


@dataclass(frozen=True)
class Folder(Place):
    """A folder of this machine, or of a volume that it shares with others."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def names(self, kind: str) -> list[str]:  # noqa: D102  # as the base class says
        return sorted(one.name for one in self._files(kind))

    def put(self, kind: str, name: str, content: bytes) -> None:  # noqa: D102
        try:
            make_folder(self.path / kind)
            write_file(self.path / kind / name, content)
        except OSError as error:
            raise _told(self.path / kind / name, "written", error) from None

    def open(self, kind: str, name: str) -> BinaryIO:  # noqa: D102
        try:
            return open(self.path / kind / name, "rb", opener=_opened_at_once)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _told(self.path / kind / name, "read", error) from None

    def delete(self, kind: str, name: str) -> None:  # noqa: D102
        try:
            (self.path / kind / name).unlink(missing_ok=True)
        except OSError as error:
            raise _told(self.path / kind / name, "deleted", error) from None

    def bytes_of(self, kind: str) -> int:  # noqa: D102
        size = 0
        for one in self._files(kind):
            with suppress(FileNotFoundError):  # a fold deletes it meanwhile
                size += one.stat().st_size
        return size

    def free_bytes(self) -> int | None:  # noqa: D102
        try:
            return room_at(self.path)
        except OSError as error:
            raise _told(self.path, "asked for its room", error) from None

    def local(self) -> Path | None:  # noqa: D102
        return self.path

    def _files(self, kind: str) -> "list[os.DirEntry[str]]":
        try:
            return [one for one in os.scandir(self.path / kind) if not one.is_dir() and one.name[0] != "."]
        except FileNotFoundError as error:
            if (self.path / kind).is_symlink():  # to what is not there now, such as another disk
                raise _told(self.path / kind, "listed", error) from None
            return []
        except OSError as error:
            raise _told(self.path / kind, "listed", error) from None


@dataclass(frozen=True)
class Url(Place):
    """A folder of an object store, which shows an object only when it is whole."""

    url: str

    def names(self, kind: str) -> list[str]:  # noqa: D102
        return sorted(one["name"].rpartition("/")[2] for one in self._listed(kind))

    def put(self, kind: str, name: str, content: bytes) -> None:  # noqa: D102
        path = self._path(kind, name)
        try:
            try:
                self._files.pipe_file(path, content)
            except FileNotFoundError:  # an object store has no folders, another file system wants them made
                self._files.makedirs(self._path(kind), exist_ok=True)
                self._files.pipe_file(path, content)
            self._files.invalidate_cache()
            size = self._files.info(path)["size"]
        except Exception as error:
            raise _told(f"{self}/{kind}/{name}", "written", error) from None
        if size != len(content):
            raise SpoolError(f"{self}/{kind}/{name}: {size} bytes of {len(content)} arrived")

    def open(self, kind: str, name: str) -> BinaryIO:  # noqa: D102
        try:
            opened: BinaryIO = self._files.open(self._path(kind, name), "rb", cache_type="none")
        except FileNotFoundError:
            raise
        except Exception as error:
            raise _told(f"{self}/{kind}/{name}", "read", error) from None
        return opened

    def delete(self, kind: str, name: str) -> None:  # noqa: D102
        try:
            with suppress(FileNotFoundError):
                self._files.rm_file(self._path(kind, name))
        except Exception as error:
            raise _told(f"{self}/{kind}/{name}", "deleted", error) from None

    def bytes_of(self, kind: str) -> int:  # noqa: D102
        return sum(one["size"] for one in self._listed(kind))

    def free_bytes(self) -> int | None:  # noqa: D102
        return None

    def local(self) -> Path | None:  # noqa: D102
        return None

    def __str__(self) -> str:
        return without_password(self.url)

    def _listed(self, kind: str) -> list[dict[str, Any]]:
        try:
            found = self._files.ls(self._path(kind), detail=True, refresh=True)
        except FileNotFoundError:
            return []
        except Exception as error:  # each object store has its own errors
            raise _told(f"{self}/{kind}", "listed", error) from None
        return [one for one in found if one["type"] == "file"]

    def _opened(self) -> tuple[Any, str]:
        """Return the file system and the path in it; fsspec keeps them, in each process its own."""
        import fsspec  # noqa: PLC0415 - an extra, which a folder does without

        try:
            files, root = fsspec.core.url_to_fs(self.url)
        except Exception as error:  # a driver that is missing, or credentials that are wrong
            raise _told(self, "opened", error) from None
        return files, root.rstrip("/")

    @property
    def _files(self) -> Any:
        return self._opened()[0]

    def _path(self, *parts: str) -> str:
        return "/".join((self._opened()[1], *parts))


def _opened_at_once(path: str, flags: int) -> int:
    """Open a file; raise OSError for what is none, such as a pipe, which would wait for a writer."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file")
    return descriptor


def require_no_tilde(name: str, path: str) -> None:
    """Raise ParameterError for a path that a shell would have begun with somebody's home: it would be a folder ~."""
    if path.startswith("~"):
        raise ParameterError(name, f"{path}: only a shell knows what ~ is; write the whole path")


def _check(scheme: str) -> None:
    try:
        import fsspec  # noqa: PLC0415 - an extra, which a folder does without
    except ImportError:
        raise ParameterError("spool", f"{scheme}:// is a URL, and {_EXTRA}") from None
    try:
        fsspec.get_filesystem_class(scheme)
    except (ValueError, ImportError) as error:
        raise ParameterError("spool", f"{scheme}:// cannot be used: {error}") from None


def _told(where: object, verb: str, error: Exception) -> SpoolError:
    why = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return SpoolError(f"spool: {where} cannot be {verb} ({why})")
