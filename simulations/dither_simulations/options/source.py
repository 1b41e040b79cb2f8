"""Options that choose the population of users."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither_shared import ParameterError

from ..choices import KINDS
from .common import input_options, with_options

if TYPE_CHECKING:
    from ..users.sources import Column, Source

__all__ = ["source_options"]


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--distribution``, its parameters, ``--input``, ``--column`` and ``--weights``.

    The command gets a ``source``.
    """

    @functools.wraps(command)
    def with_source(
        *,
        distribution: str | None,
        zipf_s: float,
        ratio: float,
        drift: float,
        source: Path | None,
        column: str | None,
        weights: str | None,
        **rest: Any,
    ) -> None:
        from ..users.sources import Distribution

        if source is None:
            if distribution == "csv" or column or weights:
                raise ParameterError("--input", "missing; --column and --weights are columns of this file")
            found: Source = Distribution(_kind(distribution), zipf_s, ratio, drift)
        elif distribution not in {None, "csv"}:
            raise ParameterError("--input", f"goes without --distribution {distribution}")
        elif drift:
            raise ParameterError("--drift", "goes without --input, whose values stay as they are")
        else:
            found = _of_file(source, column, weights)
        command(source=found, **rest)

    return with_options(with_source, _OPTIONS)


_OPTIONS = (
    click.option(
        "--distribution",
        type=click.Choice((*KINDS, "csv")),
        help="Draw values from this distribution.  [default: zipf, or csv with --input]",
    ),
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
        help="Move this share of the distribution to its mirror image each day: rare values become frequent.",
    ),
    input_options,
    click.option(
        "--weights", metavar="NAME", help="Take numbers of users from this column of --input, where a row is a value."
    ),
)


def _kind(name: str | None) -> Any:
    return name or "zipf"


def _of_file(path: Path, column: str | None, weights: str | None) -> "Column":
    from ..users.columns import read_column, read_histogram
    from ..users.populations import Population
    from ..users.sources import Column

    if column is None:
        raise ParameterError("--column", f"missing; it says which column of {path} holds the answers")
    if weights is None:
        return Column(read_column(path, column))
    labels, held = read_histogram(path, column, weights)
    return Column(Population.spread(labels, held, round(float(held.sum())) or 1))
