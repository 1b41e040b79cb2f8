"""Shared by the commands: settings and fields of queries as options, and errors as one line each."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from dither_shared import DitherError, ParameterError

from ..config.sources import COLLECTOR, ResolvedSetting, Sources, flag_of
from ..reading.parameters import Parameter, Parameters
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..store import Store

P = ParamSpec("P")

Found = Mapping[str, ResolvedSetting | None]


class CommandError(click.ClickException):
    """An error shown as one line on stderr; the exit status is 2 for a mistake in the arguments, 1 for a failure."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it of the instance
        asked = click.get_current_context(silent=True)
        self._program = asked.find_root().info_name if asked else "dither"

    def show(self, file: object = None) -> None:
        """Print the line, behind the program's name."""
        click.echo(f"{self._program}: {printable(self.message)}", err=True)


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Turn our errors into one line each; ``settings_options`` does this for its commands."""
    try:
        yield
    except PermissionError as error:  # for example a file of the collector, which another user runs
        advice = "run this as the user whose file it is"
        raise CommandError(f"{error.filename}: {error.strerror}; {advice}", 1) from None
    except DitherError as error:
        raise CommandError(str(error), 2 if isinstance(error, ParameterError) else 1) from None


def settings_options(
    *names: str, sources: Sources[Any] = COLLECTOR
) -> Callable[[Callable[Concatenate[Found, P], None]], Callable[..., None]]:
    """Give a command an option for each of these settings, and all settings, resolved, as its first argument.

    Our errors are shown as one line each.
    """

    def decorate(command: Callable[Concatenate[Found, P], None]) -> Callable[..., None]:
        @wraps(command)
        def wrapped(*args: P.args, **options: P.kwargs) -> None:
            flags = {name: options.pop(name) for name in names}
            path = options.pop("config_file")
            with errors_as_lines():
                found = sources.resolve(flags, os.environ, None if path is None else str(path))
                command(found, *args, **options)

        decorated: Callable[..., None] = wrapped
        for name in reversed(names):
            decorated = _option_of_setting(name, sources)(decorated)
        file_help = f"Read settings from this TOML file. [{sources.file_variable}, else {sources.file} here]"
        return click.option("--config", "config_file", metavar="FILE", help=file_help)(decorated)

    return decorate


def _option_of_setting(name: str, sources: Sources[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option of a setting; one that is true or false is a pair of flags."""
    about = f"{sources.settings[name].metadata['about']} [{sources.variable_of(name)}]"
    if isinstance(sources.settings[name].default, bool):
        return click.option(
            f"{flag_of(name)}/{flag_of(name).replace('--', '--no-', 1)}", name, default=None, help=about
        )
    return click.option(flag_of(name), name, metavar="...", help=about)


def required(found: Found, name: str) -> str:
    """Return a setting that must be given; raise ParameterError that says how."""
    setting = found[name]
    if setting is None:
        raise COLLECTOR.missing(name)
    return str(setting.value)


@contextmanager
def stored(found: Found, *, create: bool = False) -> "Iterator[Store]":
    """Open the database, which is there already unless it may be created, and close it at the end."""
    from ..store import Store

    with closing(Store(required(found, "db"), create=create)) as store:
        yield store


def workers_options(note: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options ``jobs`` and ``scheduler``, which say who does the work; ``note`` ends the help of the first.

    ``dither_spool.workers`` takes both.
    """
    jobs = click.option(
        "--jobs",
        type=click.IntRange(0, 4096),
        default=1,
        show_default=True,
        help=f"Share the work among this many processes; 0 means one per processor.{note}",
    )
    about = "Share the work among the workers of a Dask cluster, tcp://HOST:PORT."
    scheduler = click.option("--scheduler", metavar="ADDRESS", help=about)
    return lambda command: jobs(scheduler(command))


def strings_of(path: str) -> tuple[str, ...]:
    """Read candidate strings, one per line; empty lines and repetitions are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None
    strings = tuple(dict.fromkeys(line.removesuffix("\r") for line in lines if line.strip()))
    if not strings:
        raise ParameterError(path, "holds no strings; write one per line")
    return strings


Q = TypeVar("Q", bound=Parameters)

_FLAGS = {"values": "--value", "strata": "--stratum"}
"""Options whose names differ from their fields, because each gives one of several values."""


def query_options(kind: type[Q], *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of these fields of a query, or for all, and the query as ``query``."""
    known = kind.parameters()
    chosen = {name: known[name] for name in names or known}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapped(*args: Any, **options: Any) -> None:
            given = {name: options.pop(name) for name in chosen}
            try:
                query = kind(
                    **{name: _read(name, chosen[name], text) for name, text in given.items() if text not in {None, ()}}
                )
                command(*args, query=query, **options)
            except ParameterError as error:
                is_ours = error.place in chosen and error.place != options.get("metric")
                place = _flag_of(error.place) if is_ours else error.place
                raise CommandError(f"{place}: {error.problem}") from None

        decorated: Callable[..., None] = wrapped
        defaults = {one.name: one.default for one in fields(kind)}
        for name, parameter in reversed(chosen.items()):
            decorated = _option_of_field(name, parameter, defaults[name])(decorated)
        return decorated

    return decorate


def json_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")(command)


def strata_of(given: Sequence[str], place: str = "--stratum", prefix: str = "") -> tuple[tuple[str, str], ...]:
    """Return attributes, named with a prefix, and their values; raise ParameterError for one without a value."""
    pairs = [one.partition("=") for one in given]
    names = [name for name, _, _ in pairs]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise ParameterError(place, "not an attribute with a value; write it as platform=linux")
        if names.count(name) > 1:
            raise ParameterError(place, f"{name} is given twice")
    return tuple((prefix + name, value) for name, _, value in pairs)


def _flag_of(name: str) -> str:
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def _is_truth(parameter: Parameter) -> bool:
    return parameter.schema.get("enum") == ["true", "false"]


def _option_of_field(
    name: str, parameter: Parameter, default: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    flag, about = _flag_of(name), parameter.description
    if _is_truth(parameter):
        return click.option(flag, name, is_flag=True, help=about)
    if parameter.takes_others:
        return click.option(flag, name, metavar="NAME=VALUE", multiple=True, help=about)
    if parameter.repeats:
        return click.option(flag, name, metavar=_metavar(parameter.schema["items"]), multiple=True, help=about)
    shown: dict[str, Any] = {"default": str(default), "show_default": True} if default not in {None, 0} else {}
    if "enum" in parameter.schema:
        return click.option(flag, name, type=click.Choice(parameter.schema["enum"]), help=about, **shown)
    return click.option(flag, name, metavar=_metavar(parameter.schema), help=about, **shown)


def _metavar(schema: Any) -> str:
    if schema.get("format") == "date":
        return "DAY"
    return {"integer": "N", "number": "NUMBER"}.get(schema["type"], "TEXT")


def _read(name: str, parameter: Parameter, given: Any) -> object:
    """Return what an option gives a query. Raises ParameterError at the option."""
    if _is_truth(parameter):
        return given
    if parameter.takes_others:
        return strata_of(given)
    return parameter.value(list(given) if parameter.repeats else [given], _flag_of(name))
