"""Places: find the folder of an app's state, and check the app's name, which is the folder's name."""

import os
import sys
from pathlib import Path

from dither_shared.errors import ParameterError

from .state import StateError

__all__ = ["apps_folder", "check_app_name", "default_folder"]


def default_folder(app: str) -> Path:
    """Return the folder where this system keeps the state of an app."""
    return apps_folder() / app


def apps_folder() -> Path:
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
        base = given if Path(given).is_absolute() else "~/.local/state"
    try:
        return Path(base).expanduser() / "dither"
    except RuntimeError:
        raise StateError(
            "this user has no home; set HOME or XDG_STATE_HOME to say where the state is to be kept"
        ) from None


def check_app_name(app: object) -> None:
    """Raise ParameterError unless a folder can have the name of the app, and only inside the one it belongs in."""
    if not isinstance(app, str) or not app.strip(" .") or not app.isprintable() or {*app} & {*'/\\:*?"<>|'}:
        raise ParameterError("app", f"{app!r} is not a name; letters, digits, '-', '_', '.' and spaces are")
