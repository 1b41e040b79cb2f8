"""Resolve each setting: flags > ``DITHER_*`` environment > TOML file > defaults.

The file is the one that ``--config`` or ``DITHER_CONFIG`` names, else ``collector.toml`` in the current folder.
"""

import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from dither_shared import ParameterError

from ..access.origins import Origins
from ..access.tokens import Role
from ..tally.retention import Retention
from .settings import Config, Releases

C = TypeVar("C")


@dataclass(frozen=True)
class ResolvedSetting:
    """A value, and in words where it was found."""

    value: object
    source: str


@dataclass(frozen=True)
class Sources(Generic[C]):
    """Where the settings of a program come from.

    ``made`` is the dataclass of its settings, ``prefix`` is the prefix of their variables, ``file`` is the default file
    name, and ``examples`` are for required settings.
    """

    made: type[C]
    prefix: str
    file: str
    examples: Mapping[str, str]

    @cached_property
    def settings(self) -> dict[str, Field[Any]]:
        """The settings by name; the required ones come first."""
        found = [one for one in fields(self.made) if "about" in one.metadata]  # type: ignore[arg-type]  # a dataclass
        return {one.name: one for one in sorted(found, key=lambda one: one.default is not MISSING)}

    @property
    def file_variable(self) -> str:
        """The environment variable that names the file."""
        return self.prefix + "CONFIG"

    def variable_of(self, name: str) -> str:
        """Return the environment variable that sets a setting."""
        return self.prefix + name.upper()

    def resolve(
        self, flags: Mapping[str, object], environment: Mapping[str, str], path: str | None = None
    ) -> dict[str, ResolvedSetting | None]:
        """Return every setting with its source; None for a required one that is missing.

        ``path`` is the TOML file, else the one that the environment names, else the one in the current folder.
        Raises ParameterError that names the source of a value that cannot be read.
        """
        path = path or environment.get(self.file_variable) or _file_here(self.file)
        table = {} if path is None else _table(path, self.settings)
        return {name: self._found(name, flags, environment, table, path) for name in self.settings}

    def configured(self, found: Mapping[str, ResolvedSetting | None]) -> C:
        """Return the configuration of resolved settings; raise ParameterError for one that is missing or invalid."""
        for name, setting in found.items():
            if setting is None:
                raise self.missing(name)
        try:
            return self.made(**{name: setting.value for name, setting in found.items() if setting})
        except ParameterError as error:
            wrong = found.get(error.place)
            raise ParameterError(wrong.source if wrong else error.place, error.problem) from None

    def missing(self, name: str) -> ParameterError:
        """Return the error for a required setting that is missing."""
        example = self.examples.get(name, "...")
        problem = f"not set; set it, {flag_of(name)}, or {name} in a {self.file} here, for example {example}"
        return ParameterError(self.variable_of(name), problem)

    def _found(
        self,
        name: str,
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        table: Mapping[str, object],
        path: str | None,
    ) -> ResolvedSetting | None:
        default = self.settings[name].default
        if flags.get(name) is not None:
            return _setting(default, flags[name], flag_of(name))
        variable = self.variable_of(name)
        if environment.get(variable):
            return _setting(default, environment[variable], variable)
        if name in table:
            return _setting(default, table[name], f"{path}: {name}")
        return None if default is MISSING else ResolvedSetting(default, "default")


def flag_of(name: str) -> str:
    """Return the flag that sets a setting."""
    return "--" + name.replace("_", "-")


COLLECTOR = Sources(
    Config,
    "DITHER_",
    "collector.toml",
    {"metrics": "metrics.toml", "db": "sqlite:///dither.db", "spool": "/var/lib/spool"},
)
"""Where a collector's settings come from."""


def describe(found: Mapping[str, ResolvedSetting | None]) -> dict[str, dict[str, object]]:
    """Return settings as JSON values, with sources and what they are about; no password in the database's URL."""
    return {
        name: {
            "value": _shown(one),
            "source": one.source if one else "not set",
            "about": COLLECTOR.settings[name].metadata["about"],
        }
        for name, one in found.items()
    }


def _file_here(name: str) -> str | None:
    """Return the name of the file in the current folder if it exists; None if the folder cannot be read."""
    with suppress(OSError):
        return name if Path(name).is_file() else None
    return None


def _setting(like: object, given: object, source: str) -> ResolvedSetting:
    return ResolvedSetting(_read(like, given, source), source)


def _read(like: object, given: object, source: str) -> object:
    """Return a given value as the type of the default ``like``, from text or from TOML's own types."""
    if isinstance(like, frozenset):
        return _roles(given, source)
    if isinstance(like, Retention | Origins | Releases):
        return type(like).read(given, source)
    if isinstance(like, bool):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        truth = given if isinstance(given, bool) else words.get(str(given).lower())
        if truth is None:
            raise ParameterError(source, "neither true nor false")
        return truth
    if isinstance(like, int | float):
        try:
            return int(str(given)) if isinstance(like, int) else float(str(given))  # TOML's true is not a number either
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


def _table(path: str, known: Collection[str]) -> dict[str, object]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(path, f"not TOML: {error}") from None
    for key in table:
        if key not in known:
            raise ParameterError(f"{path}: {key}", f"unknown; known here: {', '.join(known)}")
    return table


def _shown(setting: ResolvedSetting | None) -> object:
    if setting is None:
        return None
    value = setting.value
    if isinstance(value, frozenset):
        return sorted(role.value for role in value)
    if isinstance(value, Origins):
        return list(value.listed)
    if isinstance(value, Retention | Releases):
        return str(value)
    from ..store.engine import without_password  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    return without_password(value) if isinstance(value, str) else value
