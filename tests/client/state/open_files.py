"""Open files as on Windows: they cannot be deleted, replaced or renamed."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

__all__ = ["as_on_windows"]


def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse the operations that Windows refuses on files that this process has open."""
    for name, paths in (("unlink", 1), ("remove", 1), ("replace", 2), ("rename", 2)):
        monkeypatch.setattr(f"os.{name}", _guarded(getattr(os, name), paths))


def _guarded(call: Callable[..., Any], paths: int) -> Callable[..., Any]:
    def guarded(*arguments: Any, **named: Any) -> Any:
        for path in arguments[:paths]:
            if _is_open(path):
                raise PermissionError(errno.EACCES, "another process uses the file", os.fspath(path))
        return call(*arguments, **named)

    return guarded


def _is_open(path: str | Path) -> bool:
    try:
        sought = os.lstat(path)
    except FileNotFoundError:
        return False
    for number in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 - numbers, no paths
        with suppress(OSError):  # the descriptor by which the folder itself was listed
            if os.path.samestat(os.fstat(number), sought):
                return True
    return False
