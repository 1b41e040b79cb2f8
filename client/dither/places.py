"""Places: where the state of an app is kept, and what an app may be called, for its folder has that name."""

import os
import sys
from pathlib import Path

from dither_shared.errors import ParameterError

from .state import StateError

__all__ = ["apps_folder", "check_app_name", "default_folder"]


def default_folder(app: str) -> Path:
    """Return where the system wants the state of an app to be kept."""
    return apps_folder() / app


def apps_folder() -> Path:
    """Return the folder in which each app of this user has one for its state.

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
        raise StateError("this user has no home; HOME or XDG_STATE_HOME says where the state is to be kept") from None


def check_app_name(app: object) -> None:
    """Raise ParameterError unless a folder can have the name of the app, and only inside the one it belongs in."""
    if not isinstance(app, str) or not app.strip(" .") or not app.isprintable() or {*app} & {*'/\\:*?"<>|'}:
        given = repr(app) if isinstance(app, str) and "@" not in app else "what was given"  # the endpoint, maybe
        raise ParameterError("app", f"{given} is not a name; letters, digits, '-', '_', '.' and spaces are")
