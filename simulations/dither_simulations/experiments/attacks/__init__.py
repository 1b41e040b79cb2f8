"""The commands ``dither-sim attack``: an adversary sees or sends reports, with the success that theory predicts.

- ``averaging``: many reports of one value, put together to find the value;
- ``linkage``: two series of uploads, matched to find that they are of one device;
- ``change``: two series of reports of one device, compared to find that its value changed;
- ``poisoning``: forged reports, sent to raise the estimates of chosen values.

The first three run the randomizers that are installed on devices, report by report. No defence is here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ... import options
from ...choices import ATTACKS, MAX_SIZE, SurveyType
from ...mechanism_by_name import (
    CLOSED,
    DISCOVERING,
    LISTED_SPEAKING,
    MEMOIZED,
    NUMERIC,
    SET_MECHANISMS,
    STRING_MECHANISMS,
)
from ...options import Run, run_options

_INDEXED_MEMOIZED = tuple(name for name in MEMOIZED if name in {*CLOSED, *SET_MECHANISMS, *NUMERIC})
_ATTACKED = "Attack this mechanism; repeatable.  [default: all]"


@click.group(cls=options.Commands)
def attack() -> None:
    """Attack the installed randomizers, and compare the success with what theory allows."""


def _series_options(names: tuple[str, ...], devices: int, reports: str) -> tuple[Callable[..., Any], ...]:
    """Return the options of an attack on series of reports, with its defaults."""
    return (
        options.mechanism_option(names, _ATTACKED),
        options.epsilon_option,
        click.option(
            "--permanent-epsilon",
            callback=options.positive,
            default="2",
            show_default=True,
            help="Total privacy loss of all reports of a value, for devices with a permanent draw.",
        ),
        click.option(
            "-k", "--size", type=click.IntRange(2, 256), default=4, show_default=True, help="Number of values."
        ),
        click.option(
            "--reports",
            callback=options.reports_of,
            default=reports,
            show_default=True,
            help="Reports in a series, or a list.",
        ),
        click.option(
            "--devices", type=click.IntRange(2, 10**5), default=devices, show_default=True, help="Devices in a trial."
        ),
        click.option(
            "--repeats", type=click.IntRange(1, 10**5), default=5, show_default=True, help="Number of trials."
        ),
        run_options,
        options.plot_option,
    )


def _series(name: str, offered: tuple[str, ...], devices: int, reports: str, short: str, text: str) -> None:
    """Add the command of an attack on series of reports."""

    def run_series(run: Run, names: tuple[str, ...], plot: Path | None, **chosen: Any) -> None:
        from .series import SeriesAttack

        experiment = SeriesAttack(name, names or offered, seed=run.seed, **chosen)
        experiment.check()
        run.carry_out(experiment, plot)

    attack.command(name, short_help=short, help=text)(
        options.with_options(run_series, _series_options(offered, devices, reports))
    )


_series(
    "averaging",
    _INDEXED_MEMOIZED,
    200,
    "1,7,30,90",
    "Guess a value from many reports.",
    "Guess a value from many reports of it, by devices with and without a permanent draw.",
)
_series(
    "linkage",
    MEMOIZED,
    500,
    "1,7,30",
    "Match a device's uploads.",
    "Match two series of uploads: which come from the same device? All devices have the same value, so only noise "
    "can tell them apart.",
)
_series(
    "change",
    MEMOIZED,
    200,
    "1,7,30",
    "Detect whether a value changed.",
    "Detect whether a device's value changed between two series of its reports, which permanent draws do not hide.",
)


@attack.command(short_help="Push estimates up with forged reports.")
@options.type_option("Raise shares of answers or of items, the mean of a number, or a string that nobody has.")
@options.mechanism_option(
    (*LISTED_SPEAKING, *NUMERIC, *SET_MECHANISMS, *STRING_MECHANISMS, *DISCOVERING),
    "Attack this mechanism; repeatable.  [default: all of the type]",
)
@options.epsilon_option
@click.option(
    "-k",
    "--size",
    type=click.IntRange(2, MAX_SIZE),
    help="Number of values, of items, or of strings that people hold.  [default: 128, 16 items, 1000 strings]",
)
@options.discover_option
@options.at_most_option
@click.option(
    "-n", "--users", callback=options.users_of, help="Number of honest users.  [default: 1e5; 1e6 of strings]"
)
@click.option(
    "--share",
    "shares",
    callback=options.shares_of,
    default="0.001,0.01,0.1",
    show_default=True,
    help="Forged share of all reports, or a list.",
)
@click.option(
    "--targets", type=click.IntRange(min=1), default=1, show_default=True, help="Number of values to push up."
)
@click.option(
    "--attack",
    "attacks",
    type=click.Choice(ATTACKS),
    multiple=True,
    callback=options.once,
    help="Use this attack; repeatable.  [default: all]",
)
@click.option("--repeats", type=click.IntRange(1, 10**5), default=20, show_default=True, help="Number of trials.")
@run_options
@options.plot_option
def poisoning(
    run: Run,
    survey_type: SurveyType,
    plot: Path | None,
    **chosen: Any,
) -> None:
    """Send forged reports to raise shares of values or items or the mean of a number, or to make a string appear."""
    from .poisoning import NumberPoisoning, SharePoisoning
    from .set_poisoning import SelectionPoisoning, StringPoisoning

    kinds: dict[SurveyType, Any] = {
        "share": SharePoisoning,
        "number": NumberPoisoning,
        "selection": SelectionPoisoning,
        "string": StringPoisoning,
    }
    options.refuse_others(survey_type, kinds)
    experiment = kinds[survey_type].asked(run.seed, chosen)
    run.carry_out(experiment, plot)
