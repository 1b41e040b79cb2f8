"""Shared by the commands: settings as options, and mistakes as one line."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from dither_shared import DitherError, ParameterError

from ..config.sources import COLLECTOR, Setting, Sources, flag_of, missing
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..store import Store

P = ParamSpec("P")

Found = Mapping[str, Setting | None]


class Refusal(click.ClickException):
    """A mistake in the arguments, shown as one line on stderr; status 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message)
        asked = click.get_current_context(silent=True)
        self._program = asked.find_root().info_name if asked else "dither"

    def show(self, file: object = None) -> None:
        """Print the line, behind the program's name."""
        click.echo(f"{self._program}: {printable(self.message)}", err=True)


class Denial(Refusal):
    """A failure of the machine, such as a port in use, shown as one line on stderr."""

    exit_code = 1


def refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Turn our errors into one line each."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _forbidden():
                command(*args, **kwargs)
        except DitherError as error:
            raise Refusal(str(error)) from None

    return wrapped


@contextmanager
def _forbidden() -> Iterator[None]:
    """End with 1 for a file that this user may not look at: the collector's, say, which another user runs."""
    try:
        yield
    except PermissionError as error:
        raise Denial(f"{error.filename}: {error.strerror}; run this as the user whose file it is") from None


@contextmanager
def denying() -> Iterator[None]:
    """End with 2 for what was asked wrongly and with 1 for what failed."""
    try:
        with _forbidden():
            yield
    except ParameterError as error:
        raise Refusal(str(error)) from None
    except DitherError as error:
        raise Denial(str(error)) from None


def settings_options(
    *names: str, sources: Sources[Any] = COLLECTOR
) -> Callable[[Callable[Concatenate[Found, P], None]], Callable[..., None]]:
    """Give a command an option for each of these settings, and all settings, resolved, as its first argument."""

    def decorate(command: Callable[Concatenate[Found, P], None]) -> Callable[..., None]:
        @wraps(command)
        def wrapped(*args: P.args, **options: P.kwargs) -> None:
            flags = {name: options.pop(name) for name in names}
            path = options.pop("config_file")
            try:
                found = sources.resolve(flags, os.environ, None if path is None else str(path))
            except DitherError as error:
                raise Refusal(str(error)) from None
            command(found, *args, **options)

        decorated: Callable[..., None] = wrapped
        for name in reversed(names):
            decorated = _option(name, sources)(decorated)
        file_help = f"Read settings from this TOML file. [{sources.file_variable}, else {sources.file} here]"
        return click.option("--config", "config_file", metavar="FILE", help=file_help)(decorated)

    return decorate


def _option(name: str, sources: Sources[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
        raise missing(name)
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
        help=f"Share the work among so many processes; 0 for one a processor.{note}",
    )
    about = "Share the work among the workers of a Dask cluster, tcp://HOST:PORT."
    scheduler = click.option("--scheduler", metavar="ADDRESS", help=about)
    return lambda command: jobs(scheduler(command))


def strings_of(path: str) -> tuple[str, ...]:
    """Read candidate strings, one a line; empty lines and repetitions are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None
    strings = tuple(dict.fromkeys(line.removesuffix("\r") for line in lines if line.strip()))
    if not strings:
        raise ParameterError(path, "holds no strings; one a line is right")
    return strings
