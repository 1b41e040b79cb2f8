"""Resolve each setting: flags > ``DITHER_*`` environment > TOML file > defaults.

The file is the one that ``--config`` or ``DITHER_CONFIG`` names, else ``collector.toml`` in the current folder.
"""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any

from dither_shared import ParameterError

from ..access.origins import Origins
from ..access.roles import Role
from ..tally.retention import Retention
from .settings import Config

__all__ = [
    "FILE",
    "FILE_VARIABLE",
    "SETTINGS",
    "Setting",
    "configured",
    "describe",
    "flag_of",
    "missing",
    "resolve",
    "variable_of",
]

FILE_VARIABLE = "DITHER_CONFIG"

FILE = "collector.toml"
"""The file of settings where none is named, if it is in the current folder."""

SETTINGS: Mapping[str, Field[Any]] = {one.name: one for one in fields(Config) if "about" in one.metadata}
"""The fields of ``Config`` that can be set, by name."""


@dataclass(frozen=True)
class Setting:
    """A value, and in words where it was found."""

    value: object
    source: str


def flag_of(name: str) -> str:
    """Return the flag that sets a setting."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """Return the environment variable that sets it."""
    return "DITHER_" + name.upper()


def resolve(
    flags: Mapping[str, object], environment: Mapping[str, str], path: str | None = None
) -> dict[str, Setting | None]:
    """Return every setting with its source; None where one that must be given is not.

    ``path`` is the TOML file, else the one that ``DITHER_CONFIG`` names, else ``collector.toml`` in the current folder.
    Raises ParameterError that names the source of a value that cannot be read.
    """
    path = path or environment.get(FILE_VARIABLE) or _file_here()
    table = {} if path is None else _table(path)
    return {name: _found(name, flags, environment, table, path) for name in SETTINGS}


def _file_here() -> str | None:
    """Return the name of the file in the current folder, if there is one; a folder that is closed to us has none."""
    with suppress(OSError):
        return FILE if Path(FILE).is_file() else None
    return None


def configured(found: Mapping[str, Setting | None]) -> Config:
    """Return the configuration of resolved settings; raise ParameterError for one that is missing or invalid."""
    for name, setting in found.items():
        if setting is None:
            raise missing(name)
    try:
        return Config(**{name: setting.value for name, setting in found.items() if setting})  # type: ignore[arg-type]
    except ParameterError as error:
        wrong = found.get(error.place)
        raise ParameterError(wrong.source if wrong else error.place, error.problem) from None


def missing(name: str) -> ParameterError:
    """Return the error of a setting that must be given, and is not."""
    example = {"metrics": "metrics.toml", "db": "sqlite:///dither.db", "spool": "/var/lib/spool"}.get(name, "...")
    problem = f"not set, nor {flag_of(name)}, nor {name} in a {FILE} here; for example {example}"
    return ParameterError(variable_of(name), problem)


def describe(found: Mapping[str, Setting | None]) -> dict[str, dict[str, object]]:
    """Return settings as JSON values, with sources and what they are about; no password in the database's URL."""
    return {
        name: {
            "value": _shown(one),
            "source": one.source if one else "not set",
            "about": SETTINGS[name].metadata["about"],
        }
        for name, one in found.items()
    }


def _found(
    name: str,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    table: Mapping[str, object],
    path: str | None,
) -> Setting | None:
    if flags.get(name) is not None:
        return _setting(name, flags[name], flag_of(name))
    variable = variable_of(name)
    if environment.get(variable):
        return _setting(name, environment[variable], variable)
    if name in table:
        return _setting(name, table[name], f"{path}: {name}")
    default = SETTINGS[name].default
    return None if default is MISSING else Setting(default, "default")


def _setting(name: str, given: object, source: str) -> Setting:
    return Setting(_read(SETTINGS[name].default, given, source), source)


def _read(like: object, given: object, source: str) -> object:
    """Return a given value as the type of the default ``like``, from text or from TOML's own types."""
    if isinstance(like, frozenset):
        return _roles(given, source)
    if isinstance(like, Retention | Origins):
        return type(like).read(given, source)
    if isinstance(like, bool):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        truth = given if isinstance(given, bool) else words.get(str(given).lower())
        if truth is None:
            raise ParameterError(source, "neither true nor false")
        return truth
    if isinstance(like, int | float):
        try:
            return int(str(given)) if isinstance(like, int) else float(str(given))  # TOML's true is no number either
        except ValueError:
            raise ParameterError(source, f"not a {'whole ' if isinstance(like, int) else ''}number") from None
    if not isinstance(given, str):
        raise ParameterError(source, "not a string")
    return given


def _roles(given: object, source: str) -> frozenset[Role]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise ParameterError(source, "not a list of roles")
    try:
        return frozenset(Role(str(name).strip()) for name in names if str(name).strip())
    except ValueError:
        known = ", ".join(role.value for role in Role)
        raise ParameterError(source, f"names a role that is not one of {known}") from None


def _table(path: str) -> dict[str, object]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(path, f"not TOML: {error}") from None
    for key in table:
        if key not in SETTINGS:
            raise ParameterError(f"{path}: {key}", f"unknown; known here: {', '.join(SETTINGS)}")
    return table


def _shown(setting: Setting | None) -> object:
    if setting is None:
        return None
    value = setting.value
    if isinstance(value, frozenset):
        return sorted(role.value for role in value)
    if isinstance(value, Origins):
        return list(value.listed)
    if isinstance(value, Retention):
        return str(value)
    from ..store.url import without_password  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    return without_password(value) if isinstance(value, str) else value
