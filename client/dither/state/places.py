"""Places: find the folder of an app's state, and check the app's name, which is the folder's name."""

from __future__ import annotations

import os
import sys

from dither_shared.errors import ParameterError
from dither_shared.light import suppress

from ..settings import path
from .folder import FolderState
from .state import MemoryState, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import State

_DEVICES = frozenset(
    {"aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names of devices on Windows, which no file can have, with or without an extension."""


def state_of(given: object, app: str) -> State:
    """Return the state that an app gives: itself, one in the folder of that path, or, for None, in the app's own.

    Raises ParameterError if it is not a path, StateError for a user who has no home.
    """
    if isinstance(given, MemoryState):
        return given
    return FolderState(default_folder(app) if given is None else folder_of(path("state", given)))


def default_folder(app: str) -> str:
    """Return the folder where this system keeps the state of an app."""
    return folder_of(os.path.join(apps_folder(), app))


def apps_folder() -> str:
    """Return the folder that holds a state folder for each app of this user.

    A relative ``XDG_STATE_HOME`` is ignored, as the XDG Base Directory Specification says.
    Raises StateError for a user who has no home.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        given = os.environ.get("XDG_STATE_HOME", "")
        base = given if os.path.isabs(given) else "~/.local/state"
    home = os.path.expanduser(base)
    if home.startswith("~"):
        names = "LOCALAPPDATA" if sys.platform == "win32" else "HOME or XDG_STATE_HOME"
        raise StateError(f"this user has no home; set {names} to say where the state is to be kept")
    folder = os.path.join(home, "dither")
    if not os.path.isabs(folder):  # it would be another one in each working directory
        name = "LOCALAPPDATA" if sys.platform == "win32" else "HOME"
        raise StateError(f"this user's home, {name}, is not an absolute path")
    return folder


def folder_of(given: str | os.PathLike[str]) -> str:
    """Return the path of a state folder, which stays the same wherever the program goes later.

    Raises ParameterError for one that no file of this system can have.
    """
    try:
        name = os.fsencode(given)
    except UnicodeError:
        raise ParameterError("state", "contains letters that this system's encoding of file names lacks") from None
    if b"\0" in name:
        raise ParameterError("state", "contains a null character, which no file name can")
    with suppress(OSError):  # the working directory is gone, and the code that needs the folder will report it
        return os.path.join(os.getcwd(), given)
    return os.fspath(given)


def check_app_name(app: object) -> str:
    """Return an app's name; raise ParameterError unless a folder can have it and stays inside its parent."""
    if not isinstance(app, str) or not app.strip(" .") or not app.isprintable() or {*app} & {*'/\\:*?"<>|'}:
        given = repr(app) if isinstance(app, str) and "@" not in app else "this"  # perhaps the endpoint
        raise ParameterError("app", f"{given} cannot be an app's name; use letters, digits, '-', '_', '.' and spaces")
    if app.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        raise ParameterError("app", f"{app!r} cannot be an app's name, because Windows reserves it for a device")
    if app.endswith((" ", ".")):
        raise ParameterError("app", f"{app!r} cannot be an app's name, because it ends with a space or a dot")
    return app
