r"""The policy file: read what the administrator of a machine decided for all its users.

    Linux and others    /etc/dither/policy.toml
    macOS               /Library/Application Support/dither/policy.toml
    Windows             %ProgramData%\dither\policy.toml

    mode = "off"              # for every app: off, local or on

    [apps.notes]
    mode = "local"            # for one app, instead

A file that is there and cannot be read, or that says anything else, is taken for off. An app that it does not speak of
is left to its user.
"""

import os
import sys
from pathlib import Path

from ..state.files import read_foreign

__all__ = ["Policy", "policy_path"]


def policy_path() -> Path:
    """Return the path of the policy file on this system."""
    if sys.platform == "win32":
        return Path(os.environ.get("PROGRAMDATA") or "C:/ProgramData") / "dither" / "policy.toml"
    if sys.platform == "darwin":
        return Path("/Library/Application Support/dither/policy.toml")
    return Path("/etc/dither/policy.toml")


class Policy:
    """The policy at ``path`` (None: there is none) for ``app``; read again when the file has changed."""

    def __init__(self, path: Path | None, app: str) -> None:
        self._path = None if path is None else str(path)
        self._app = app
        self._seen: tuple[int, int, int] | None = None
        self._mode: str | None = None

    def mode(self) -> str | None:
        """Return the mode that it sets, "" if it cannot be read, None if it says nothing of this app."""
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116 - asked for each report; a Path would take twice as long
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return ""
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._mode, self._seen = _read(self._path, self._app), seen
        return self._mode


def _read(path: str, app: str) -> str | None:
    import tomllib  # noqa: PLC0415 - most machines have no policy

    try:
        document = tomllib.loads(read_foreign(path).decode("utf-8"))
        mode = document.get("apps", {}).get(app, {}).get("mode", document.get("mode"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return mode if mode is None or isinstance(mode, str) else ""
