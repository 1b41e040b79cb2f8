"""Options, their parsing and their errors, shared by the commands of ``dither-sim``."""

import functools
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dither_server.cli.main import LazyGroup
from dither_server.cli.options import workers_options
from dither_server.estimation.confidence import CONFIDENCES, LEAST_CONFIDENCE, MOST_CONFIDENCE
from dither_shared import DitherError, ParameterError

from .choices import FORMATS, MAX_SIZE, MAX_USERS, SURVEY_TYPES, SurveyType

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    from dither_shared import DiscoveryQuestion
    from dither_spool.workers import Map

    from .sweeps import Experiment, Row

_GRID = "0.25:4:10"

_MOST = 1000
"""Maximum numbers of LOW:HIGH:COUNT."""

_Callback = Callable[[click.Context, click.Parameter, str | None], Any]

_THOUSANDS = re.compile(r"\d{1,3}(\.\d{3})+")
"""A number in which German, French or Spanish readers see thousands separated by points."""


class Commands(LazyGroup):
    """A group whose commands end in one line, not a traceback: status 2 for an invalid parameter, else 1.

    If NO_COLOR is in the environment, nothing is coloured (https://no-color.org).
    """

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the arguments."""
        context = super().make_context(*arguments, **extra)
        if os.environ.get("NO_COLOR"):
            context.color = False
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command asked for."""
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            raise click.UsageError(str(error), ctx) from None
        except DitherError as error:
            raise click.ClickException(str(error)) from None


def with_options(command: Callable[..., None], options: Iterable[Callable[..., Any]]) -> Callable[..., None]:
    """Return a command with options, in the order of its help."""
    for option in reversed([*options]):
        command = option(command)
    return command


def users_of(_: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Option callback: parse a number of users, also 1e9 or 10^9, but not 5.000, which many read as 5000."""
    if text is None:
        return None
    if _THOUSANDS.fullmatch(text):
        whole = text.replace(".", "")
        problem = (
            f"{text!r} is ambiguous, because many people separate thousands by a point; write {whole} or {int(whole):_}"
        )
        raise click.BadParameter(problem, param=parameter)
    power = re.fullmatch(r"(\d{1,4})(?:\^|\*\*)(\d{1,2})", text)
    try:
        number = float(power[1]) ** int(power[2]) if power else float(text)
    except (ValueError, OverflowError):
        number = math.nan
    if not 1 <= number <= MAX_USERS or number != int(number):
        problem = f"{text!r} is not a whole number from 1 to {MAX_USERS:.0e}, such as 10000 or 1e9"
        raise click.BadParameter(problem, param=parameter)
    return int(number)


def users_list(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Option callback: parse comma-separated numbers of users, or LOW:HIGH:COUNT.

    LOW:HIGH:COUNT gives COUNT numbers, evenly spaced on a log scale, rounded to whole users.
    """
    ends, colon, count = (text or "").rpartition(":")
    parts = ends.split(":") if colon else (text.split(",") if text is not None else ())
    numbers = tuple(users for part in parts if (users := users_of(context, parameter, part)) is not None)
    if not colon:
        return tuple(dict.fromkeys(numbers))
    grid = _grid(numbers, count)
    if not grid:
        problem = f"{text!r} is not LOW:HIGH:COUNT, such as 1e3:1e6:4, with up to {_MOST:,} numbers of users"
        raise click.BadParameter(problem, param=parameter)
    return tuple(dict.fromkeys(map(round, grid)))


def _grid(ends: Sequence[float], count: str) -> list[float]:
    """Return ``count`` numbers from one end to the other, evenly spaced on a log scale; none if that is impossible."""
    last = int(count) - 1 if count.isdecimal() else 0
    if len(ends) != 2 or not 0 < ends[0] < ends[1] < math.inf or not 1 <= last < _MOST:
        return []
    return [ends[0] * (ends[1] / ends[0]) ** (place / last) for place in range(last + 1)]


def _whole_numbers(low: int, high: int, example: str) -> _Callback:
    """Return an option's callback that reads one or more whole numbers, with commas between them."""

    def read(_: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
        numbers = tuple(int(part) if part.isdecimal() else -1 for part in (() if text is None else text.split(",")))
        if not all(low <= number <= high for number in numbers):
            problem = f"{text!r} is not a list of whole numbers from {low} to {high:,}{example}"
            raise click.BadParameter(problem, param=parameter)
        return tuple(dict.fromkeys(numbers))

    return read


sizes_of = _whole_numbers(2, MAX_SIZE, ", such as 16,128")
"""Option callback for numbers of values."""

reports_of = _whole_numbers(1, 10_000, "")
"""Option callback for numbers of reports, or of days."""


def _number(low: float, high: float, what: str, *, many: bool = False) -> _Callback:
    """Return an option's callback that reads a number strictly between two others, or ``many`` with commas."""

    def read_one(parameter: click.Parameter, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not low < number < high:
            raise click.BadParameter(f"{text!r} is not {what}", param=parameter)
        return number

    def read(_: click.Context, parameter: click.Parameter, text: str | None) -> Any:
        if text is None:
            return None
        if many:
            return tuple(dict.fromkeys(read_one(parameter, part) for part in text.split(",")))
        return read_one(parameter, text)

    return read


positive = _number(0, math.inf, "a positive number")
share = _number(0, 1, "a number strictly between 0 and 1")
shares_of = _number(0, 1, "a number strictly between 0 and 1", many=True)
confidence_of = _number(
    math.nextafter(LEAST_CONFIDENCE, 0), math.nextafter(MOST_CONFIDENCE, 1), f"a number {CONFIDENCES}"
)
"""Option callback for a confidence level for which intervals exist."""


def numbers_of(_: click.Context, parameter: click.Parameter, text: str) -> tuple[float, ...]:
    """Option callback: parse a comma-separated list of numbers, which may be empty."""
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers", param=parameter) from None


def epsilons_of(_: click.Context, parameter: click.Parameter, text: str) -> tuple[float, ...]:
    """Option callback: parse a list of ε, or LOW:HIGH:COUNT for COUNT of them, evenly spaced on a log scale."""
    ends, colon, count = (_GRID if text == "grid" else text).rpartition(":")
    try:
        numbers = [float(part) for part in (ends.split(":") if colon else text.split(","))]
    except ValueError:
        numbers = []
    epsilons = [float(f"{epsilon:.4g}") for epsilon in _grid(numbers, count)] if colon else numbers
    if not epsilons or not all(0 < epsilon < math.inf for epsilon in epsilons):
        problem = f"{text!r} is not a list of positive numbers such as 0.5,1,2, nor LOW:HIGH:COUNT, nor grid"
        raise click.BadParameter(problem, param=parameter)
    return tuple(epsilons) if colon else tuple(dict.fromkeys(epsilons))


def new_file(*suffixes: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """Return an option's callback that checks, before anything is computed, that a file of that name can be written."""

    def checked(_: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        if not path.parent.is_dir():
            raise click.BadParameter(f"{path.parent} is not a folder", param=parameter)
        if path.suffix not in suffixes:
            raise click.BadParameter(f"{str(path)!r} must end in {' or '.join(suffixes)}", param=parameter)
        return path

    return checked


FILE = click.Path(dir_okay=False, path_type=Path)
"""The type of options for files that are read or written."""

plot_option = click.option(
    "--plot",
    type=FILE,
    callback=new_file(*FORMATS),
    help=f"Write a picture to this file, as {', '.join(FORMATS)}.",
)


def input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--input`` and ``--column``."""
    about = "Read users from this CSV file, plain or gzipped; one row each."
    column = click.option("--column", metavar="NAME", help="Column of --input that holds the answers.")
    return click.option("--input", "source", type=FILE, help=about)(column(command))


def mechanism_option(names: Sequence[str], about: str) -> Callable[..., Any]:
    """Return ``--mechanism``, which may be repeated; the command gets ``names``."""
    return click.option("--mechanism", "names", type=click.Choice(names), multiple=True, callback=once, help=about)


def once(_: click.Context, _parameter: click.Parameter, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Option callback: return each value of a repeatable option once, in the order given."""
    return tuple(dict.fromkeys(values))


epsilon_option = click.option(
    "--epsilon", callback=positive, metavar="ε", default="1", show_default=True, help="Privacy loss of one report."
)

at_most_option = click.option(
    "--at-most", type=click.IntRange(1, MAX_SIZE), help="Maximum items per person, if the selection has a limit."
)

size_option = click.option(
    "-k",
    "--size",
    type=click.IntRange(2, MAX_SIZE),
    default=16,
    show_default=True,
    help="Number of values; a set with a limit has at most half of them.",
)

permanent_option = click.option(
    "--permanent-epsilon",
    callback=positive,
    metavar="ε",
    help="Privacy loss of all reports of one value together (memoisation).",
)


_QUESTION = "Kind of question: shares of listed answers, a number, which of several items apply, or any string."


def type_option(about: str = _QUESTION) -> Callable[..., Any]:
    """Return ``--type``; the command gets a ``survey_type``."""
    kinds = click.Choice(SURVEY_TYPES)
    return click.option("--type", "survey_type", type=kinds, default="share", show_default=True, help=about)


def _discover(_: click.Context, parameter: click.Parameter, text: str | None) -> "DiscoveryQuestion | None":
    """Read an alphabet and a length, with a slash between them, as a question."""
    if text is None:
        return None
    from dither_shared import DiscoveryQuestion

    alphabet, _slash, length = text.rpartition("/")
    if not (alphabet and length.isdecimal()):
        raise click.BadParameter(f"{text!r} is not an alphabet and a length, such as a-z0-9._-/12", param=parameter)
    return DiscoveryQuestion(alphabet, int(length))


discover_option = click.option(
    "--discover",
    callback=_discover,
    metavar="ALPHABET/LENGTH",
    help="Discover strings without a list, of up to LENGTH characters of ALPHABET, such as a-z0-9._-/12.",
)


def refuse_others(
    survey_type: SurveyType,
    kinds: "Mapping[SurveyType, type[DataclassInstance]]",
    more: Mapping[SurveyType, Collection[str]] | None = None,
) -> None:
    """Raise ParameterError for an option that only other types have.

    A type has the options that are named as the fields of its class, and those that ``more`` names.
    """
    applicable = {
        kind: {field.name for field in fields(cls)}.union((more or {}).get(kind, ())) for kind, cls in kinds.items()
    }
    context = click.get_current_context()
    for option in context.command.params:
        types = [other for other, names in applicable.items() if option.name in names]
        on_command_line = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if on_command_line and types and survey_type not in types:
            raise ParameterError(option.opts[-1], f"needs --type {' or '.join(types)}")


def given_fields(kind: "type[DataclassInstance]", given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options whose names are fields of a class, without those that were not given."""
    return {field.name: given[field.name] for field in fields(kind) if given.get(field.name) not in {None, ()}}


@dataclass(frozen=True)
class Run:
    """What ``run_options`` read from the command line."""

    seed: int = 0
    jobs: int = 1
    scheduler: str | None = None
    as_json: bool = False
    out: Path | None = None

    @property
    def part(self) -> Path | None:
        """The file that keeps finished cells until all are finished."""
        return None if self.out is None else self.out.with_name(f"{self.out.name}.part")

    def workers(self) -> "AbstractContextManager[Map]":
        """Return a context that yields the ``Map`` that spreads the work."""
        from dither_spool.workers import workers

        return workers(self.jobs, self.scheduler)

    def carry_out(self, experiment: "Experiment", plot: Path | None) -> None:
        """Run an experiment, with a progress bar on a terminal, and print, write and draw its results.

        With ``out``, it resumes an earlier run that was killed, from ``<out>.part``.
        """
        from tqdm import tqdm

        from .sweeps import SweepJournal, sweep

        journal = None if self.part is None else SweepJournal(self.part, experiment.identity())
        trials = len(experiment.cells()) * experiment.repeats
        with (
            closing(journal) if journal is not None else nullcontext(),
            self.workers() as run,
            tqdm(total=trials, unit="trial", disable=None, leave=False) as bar,
        ):
            rows = sweep(experiment, run, journal, bar.update)
        self.show(rows, lambda: experiment.table(rows))
        self.draw(plot, lambda: experiment.plot(rows))

    def draw(self, path: Path | None, figure: "Callable[[], Figure]") -> None:
        """Save a picture, if one was asked for."""
        if path is not None:
            from .plots import save

            save(figure(), path)

    def show(self, rows: "Sequence[Row]", text: Callable[[], str]) -> None:
        """Print results, as JSON if requested and otherwise as ``text`` returns them; and write them."""
        from .tables import json_rows, write_rows

        click.echo(json_rows(rows) if self.as_json else text(), nl=not self.as_json)
        if self.out is not None and self.part is not None:
            write_rows(self.out, rows)
            self.part.unlink(missing_ok=True)


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--seed``, ``--jobs``, ``--scheduler``, ``--json`` and ``--out``; the command gets a ``Run``."""

    @functools.wraps(command)
    def with_run(*, seed: int, jobs: int, scheduler: str | None, as_json: bool, out: Path | None, **rest: Any) -> None:
        command(run=Run(seed, jobs, scheduler, as_json, out), **rest)

    return with_options(with_run, _OPTIONS)


_OPTIONS = (
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of all random draws: same seed, same numbers.",
    ),
    workers_options(" Results do not depend on it."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
    click.option(
        "--out",
        type=FILE,
        callback=new_file(".csv", ".json"),
        help="Write the results to this file, .csv or .json. Run the command again to go on after an interruption.",
    ),
)
