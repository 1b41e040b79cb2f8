"""Run a command: the options that all share for the seed, the workers, and the files of results."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither_server.cli.options import workers_options

from .common import new_file, with_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dither_spool.workers import Map

    from ..sweeps import Experiment, Row


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

    @contextmanager
    def workers(self) -> Iterator["Map"]:
        """Yield the ``Map`` that spreads the work."""
        from dither_spool.workers import workers

        with workers(self.jobs, self.scheduler) as run:
            yield run

    def sweep(self, experiment: "Experiment") -> "list[Row]":
        """Run an experiment, with a progress bar on standard error if that is a terminal.

        With ``out``, it resumes an earlier run that was killed, from ``<out>.part``.
        """
        from tqdm import tqdm

        from ..sweeps import SweepJournal, sweep

        journal = None if self.part is None else SweepJournal(self.part, experiment.identity())
        trials = len(experiment.cells()) * experiment.repeats
        try:
            with self.workers() as run, tqdm(total=trials, unit="trial", disable=None, leave=False) as bar:
                rows = sweep(experiment, run, journal, bar.update)
        finally:
            if journal is not None:
                journal.close()
        return rows

    def carry_out(self, experiment: "Experiment", plot: Path | None) -> None:
        """Run an experiment, and print, write and draw its results."""
        rows = self.sweep(experiment)
        self.show(rows, lambda: experiment.table(rows))
        self.draw(plot, lambda: experiment.plot(rows))

    def draw(self, path: Path | None, figure: "Callable[[], Figure]") -> None:
        """Save a picture, if one was asked for."""
        if path is not None:
            from ..output.plots import save

            save(figure(), path)

    def show(self, rows: "Sequence[Row]", text: Callable[[], str]) -> None:
        """Print results, as JSON if requested and otherwise as ``text`` returns them; and write them."""
        from ..output.tables import json_rows, write_rows

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
        type=click.Path(dir_okay=False, path_type=Path),
        callback=new_file(".csv", ".json"),
        help="Write the results to this file, .csv or .json. Run the command again to go on after an interruption.",
    ),
)
