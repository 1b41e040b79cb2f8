"""The command ``dither-sim error``, and its options for the kind of question and the people who are asked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither_shared import ParameterError

from ... import options
from ...choices import KINDS, LAWS, SEPARATOR, SPREADS, STEPS, SurveyType
from ...mechanism_by_name import DISCOVERING, NAMES, NUMERIC, SELECTIONS
from ...options import Run, run_options

if TYPE_CHECKING:
    from ...users.numbers import NumberSource
    from ...users.populations import Population, Source
    from ...users.sets import SetSource
    from .accuracy import Accuracy

_OWN: Mapping[SurveyType, set[str]] = {
    "share": {"zipf_s", "ratio", "drift", "write_to"},
    "number": {"shape", "low", "high", "log"},
    "selection": {"zipf_s", "ratio", "greatest", "separator"},
    "string": {"zipf_s", "ratio"},
}
"""Options of each type of survey that not all types have, in addition to the fields of its experiment."""


def _share_source(given: Mapping[str, Any]) -> "Source":
    from ...users.populations import Distribution

    if _made_up(given, KINDS):
        return Distribution(given["distribution"] or "zipf", given["zipf_s"], given["ratio"], given["drift"])
    if given["drift"]:
        raise ParameterError("--drift", "cannot be used with --input, whose values are used unchanged")
    return _of_file(given)


def _number_source(given: Mapping[str, Any]) -> "NumberSource":
    from ...users.numbers import NumberColumn, NumberDistribution

    if not _made_up(given, SPREADS):
        if given["low"] is None or given["high"] is None:
            raise ParameterError("--low", "and --high are missing; they set the range of the numbers")
        whole = _of_file(given)
        return NumberColumn.of(whole.labels, whole.counts, given["low"], given["high"], given["log"])
    for name in ("low", "high", "log"):
        if given[name]:
            raise ParameterError(f"--{name}", "needs --input; distributions have the range from 0 to 1")
    return NumberDistribution(given["distribution"] or "uniform", given["shape"])


def _set_source(given: Mapping[str, Any]) -> "SetSource":
    from ...users.sets import ItemChances, SetColumn

    if _made_up(given, KINDS):
        return ItemChances(given["distribution"] or "zipf", given["zipf_s"], given["ratio"], given["greatest"])
    whole = _of_file(given)
    return SetColumn.of(whole.labels, whole.counts, given["separator"])


_SOURCES: Mapping[SurveyType, Callable[[Mapping[str, Any]], Any]] = {
    "share": _share_source,
    "number": _number_source,
    "selection": _set_source,
    "string": _share_source,
}


def _made_up(given: Mapping[str, Any], kinds: tuple[str, ...]) -> bool:
    """Return whether users are generated from a distribution, rather than read from a file.

    Raises ParameterError if the options contradict each other, or the distribution is not one of ``kinds``.
    """
    kind = given["distribution"]
    if given["source"] is None:
        if kind == "csv" or given["column"] or given["weights"]:
            raise ParameterError("--input", "missing; --column and --weights are columns of this file")
        if kind not in {None, *kinds}:
            raise ParameterError("--distribution", f"{kind} does not fit this --type; use {', '.join(kinds)}")
        return True
    if kind not in {None, "csv"}:
        raise ParameterError("--input", f"cannot be used with --distribution {kind}")
    return False


def _separator(_: click.Context, parameter: click.Parameter, text: str) -> str:
    if not text.strip():
        raise click.BadParameter("must be a text that is not blank", param=parameter)
    return text


_SOURCE_OPTIONS = (
    options.type_option(),
    click.option(
        "--distribution",
        type=click.Choice((*dict.fromkeys((*KINDS, *SPREADS)), "csv")),
        help=(
            f"Distribution of the answers: for numbers {', '.join(SPREADS)}; otherwise {', '.join(KINDS)}. "
            "[default: zipf, for numbers uniform, or csv with --input]"
        ),
    ),
    click.option(
        "--shape",
        callback=options.numbers_of,
        metavar="LIST",
        default="",
        help="Parameters of a distribution of numbers, in parts of the range: MEAN,SD (normal), MEDIAN,SIGMA "
        "(lognormal), A,B (beta), COUNT (spikes), SHARE,MEAN (zero-inflated).",
    ),
    click.option("--low", type=float, help="Low end of the range of the numbers in --input."),
    click.option("--high", type=float, help="High end of the range of the numbers in --input."),
    click.option("--log", is_flag=True, help="Use a grid with even steps in the logarithm."),
    click.option(
        "--zipf-s", type=click.FloatRange(min=0), default=1.1, show_default=True, help="Exponent of Zipf's law."
    ),
    click.option(
        "--ratio",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.9,
        show_default=True,
        help="Ratio of neighbouring shares in a geometric distribution.",
    ),
    click.option(
        "--drift",
        type=click.FloatRange(0, 1),
        default=0.0,
        show_default=True,
        help="Each day, move this share of the distribution to its mirror image, so that rare values become frequent.",
    ),
    click.option(
        "--greatest",
        callback=options.share,
        default="0.5",
        show_default=True,
        help="Share of people who have the most frequent item of a selection.",
    ),
    options.input_options,
    click.option(
        "--weights", metavar="NAME", help="Column of --input with the number of users, if each row is a value."
    ),
    click.option(
        "--separator",
        metavar="TEXT",
        callback=_separator,
        default=SEPARATOR,
        show_default=True,
        help="Separator between the items of a selection in a cell of --column.",
    ),
)


def _of_file(given: Mapping[str, Any]) -> "Population":
    from ...users.populations import Population, read_column, read_histogram

    path, column, weights = given["source"], given["column"], given["weights"]
    if column is None:
        raise ParameterError("--column", f"missing; it says which column of {path} holds the answers")
    if weights is None:
        return read_column(path, column)
    labels, held = read_histogram(path, column, weights)
    return Population.spread(labels, held, round(float(held.sum())) or 1)


def _source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--type`` and the options that say who is asked."""
    return options.with_options(command, _SOURCE_OPTIONS)


@click.command()
@options.mechanism_option(
    tuple(dict.fromkeys((*NAMES, *NUMERIC, *SELECTIONS, *DISCOVERING))),
    "Simulate this mechanism; repeatable. auto is the most precise one for shares or selections whose report fits "
    "into 64 bytes; boolean asks about each item of a selection separately, at ε/d.  "
    "[default: every mechanism of the type]",
)
@click.option(
    "--epsilon",
    "epsilons",
    callback=options.epsilons_of,
    metavar="LIST",
    default="grid",
    show_default=True,
    help="Privacy loss of one report: 0.5,1,2 or LOW:HIGH:COUNT; grid is ten values from 0.25 to 4.",
)
@click.option(
    "-n",
    "--users",
    callback=options.users_list,
    metavar="LIST",
    help="Number of users: 1e4,1e5 or LOW:HIGH:COUNT.  [default: 1e5, or those of --input]",
)
@click.option(
    "-k",
    "--size",
    "sizes",
    callback=options.sizes_of,
    metavar="LIST",
    help="Number of values, of items, or of candidate strings.  [default: 64, 8 items, 1000 strings; all of --column]",
)
@_source_options
@options.at_most_option
@click.option(
    "--candidates",
    type=click.IntRange(1, 10**7),
    help="Look for this many strings; people have --size of them.  [default: ten times as many]",
)
@options.discover_option
@click.option(
    "--step",
    "steps",
    type=click.Choice((*STEPS, "all")),
    multiple=True,
    callback=options.once,
    default=("raw",),
    show_default=True,
    help="Turn estimates into shares with this method; repeatable.",
)
@click.option("--days", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Days with one report each.")
@options.permanent_option
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of most frequent values in top-k recall.",
)
@click.option(
    "--quantile",
    "quantiles",
    callback=options.shares_of,
    metavar="LIST",
    default="0.5,0.95",
    show_default=True,
    help="Quantiles of a number, as shares between 0 and 1.",
)
@click.option(
    "--confidence",
    callback=options.confidence_of,
    default="0.95",
    show_default=True,
    help="Confidence level of the intervals.",
)
@click.option(
    "--repeats", type=click.IntRange(1, 10**6), help="Trials of each cell.  [default: 20; 1 with --collector]"
)
@click.option(
    "--law",
    type=click.Choice(LAWS),
    help=(
        "Draw all counts together, each value separately, or user by user with the device's randomizer. "
        "[default: joint, or marginal if joint takes long]"
    ),
)
@click.option(
    "--collector",
    metavar="URL|auto",
    help=(
        "Let real clients report to this collector, and read its estimates. Give the address with token that it "
        "prints; auto starts a collector for the duration of the command."
    ),
)
@click.option(
    "--definitions", "write_to", type=options.FILE, help="Only write the metrics.toml that --collector needs."
)
@run_options
@options.plot_option
def error(run: Run, survey_type: SurveyType, write_to: Path | None, plot: Path | None, **asked: Any) -> None:
    """Measure the error of estimates over repeated trials, and compare it with theory.

    The tally of all users is drawn from its exact law, so a billion users cost no more than a thousand. For a number
    (--type number), the errors of the mean, the distribution and quantiles are measured.
    """
    from .numbers import NumberAccuracy
    from .selections import SelectionAccuracy
    from .shares import ShareAccuracy
    from .strings import StringAccuracy

    kinds: dict[SurveyType, type[Accuracy]] = {
        "share": ShareAccuracy,
        "number": NumberAccuracy,
        "selection": SelectionAccuracy,
        "string": StringAccuracy,
    }
    options.refuse_others(survey_type, kinds, _OWN)
    asked["source"] = _SOURCES[survey_type](asked)
    experiment = kinds[survey_type].asked(run.seed, asked)
    if asked["collector"] == "auto" and run.scheduler is not None:
        problem = "auto cannot be used with --scheduler: its workers cannot reach a collector on this machine"
        raise ParameterError("--collector", problem)
    experiment.check()
    if not isinstance(experiment, ShareAccuracy):
        run.carry_out(experiment, plot)
    elif write_to is not None:
        experiment.define(write_to)
    else:
        with experiment.ready() as ready:
            run.carry_out(ready, plot)
