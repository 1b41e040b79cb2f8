"""The command ``dither-sim demo``."""

import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
import numpy as np
from tqdm import tqdm

from dither_shared import ParameterError

from ..collecting import DATABASE, CollectorError, fetch_estimate, running_collector
from ..files import write_bytes
from ..fleet import send_all
from ..options import input_options
from ..plots import save, shares_plot
from .answers import Answer, from_devices, from_json, show
from .surveys import Survey, browser_survey, column_survey

__all__ = ["demo"]

_DEVICES = 10_000
_DEFINITION = "demo-metrics.toml"


@click.command()
@click.option(
    "--devices", type=click.IntRange(1, 10**6), help=f"Number of devices.  [default: {_DEVICES}; all rows of --input]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Draw the users from this seed.")
@click.option("--jobs", type=click.IntRange(1, 1024), default=32, show_default=True, help="Devices that run at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write charts and the database into this folder."
)
@input_options
@click.option("--no-http", is_flag=True, help="Run the devices' randomizers alone, seeded: no client, no collector.")
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of runs, with --no-http."
)
def demo(
    devices: int | None,
    seed: int,
    jobs: int,
    as_json: bool,
    out: Path | None,
    source: Path | None,
    column: str | None,
    no_http: bool,
    repeats: int,
) -> None:
    """Run the whole path once: devices with real clients, a real collector, and its estimates.

    The users are drawn from a table of browser usage, or are the rows of --input. The seed draws the users; the noise
    of their devices comes from the operating system, except with --no-http.
    """
    if repeats > 1 and not no_http:
        raise ParameterError("--repeats", "goes with --no-http")
    if no_http and out is not None:
        raise ParameterError("--out", "goes without --no-http, which only counts")
    if no_http and as_json:
        raise ParameterError("--json", "goes without --no-http, which only counts")
    survey = _survey(devices, seed, source, column)
    if no_http:
        return _count(survey, seed, repeats)
    with _ended_by_sigterm(), _folder(out) as folder:
        answers = _collect(survey, folder, jobs, quiet=as_json)
        if as_json:
            click.echo(json.dumps([answer.described() for answer in answers], indent=1))
        else:
            _tell(answers)
        if out is not None:
            _draw(answers, out, quiet=as_json)
    return None


def _survey(devices: int | None, seed: int, source: Path | None, column: str | None) -> Survey:
    if source is None:
        if column is not None:
            raise ParameterError("--input", "missing; --column is a column of this file")
        return browser_survey(devices or _DEVICES, np.random.default_rng(seed))
    if column is None:
        raise ParameterError("--column", f"missing; it says which column of {source} holds the answers")
    if devices is not None:
        raise ParameterError("--devices", "goes without --input, each row of which is a device")
    return column_survey(source, column)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Yield the folder asked for, emptied of what an earlier run left, or a temporary one."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="dither-demo-") as vanishing:
            yield Path(vanishing)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob(f"{DATABASE}*"):
            old.unlink()  # the reports of another run are none of this one's
    except OSError as error:
        raise ParameterError("--out", f"{out} cannot be written to: {error.strerror}") from None
    yield out


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that it ends the collector, too."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _collect(survey: Survey, folder: Path, jobs: int, quiet: bool) -> list[Answer]:
    """Send every person's answers to a collector made for this run, and ask it for estimates."""
    definition = folder / _DEFINITION
    write_bytes(definition, survey.definition.encode("utf-8"))
    devices = len(survey.people)
    try:
        with running_collector(definition, folder) as collector:
            if not quiet:
                click.echo(f"A collector listens at {collector.url}; {devices:,} devices report to it.\n")
            with tqdm(total=devices, unit="device", disable=None, leave=False) as bar:
                delivered = send_all(survey.metrics, collector.url, survey.people, jobs, bar.update)
            if not delivered:
                raise CollectorError("it took no reports from a device for as long as a device waits")
            return [
                from_json(metric, survey.truth(name), fetch_estimate(collector, name))
                for name, metric in survey.metrics.items()
            ]
    except CollectorError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)


def _tell(answers: list[Answer]) -> None:
    for answer in answers:
        click.echo(f"{show(answer)}\n")
    shown = np.concatenate([answer.most_frequent().covered for answer in answers])
    click.echo(
        f"{shown.sum()} of the {len(shown)} intervals shown contain the truth (! marks the others); 95 in 100 should."
    )


def _draw(answers: list[Answer], out: Path, quiet: bool) -> None:
    for answer in answers:
        title = answer.metric.description or answer.metric.name
        save(shares_plot(answer.most_frequent().shares, title), out / f"{answer.metric.name}.png")
    if quiet:
        return
    name, definition, database = answers[0].metric.name, out / _DEFINITION, out / DATABASE
    click.echo(f"The charts are in {out}. To ask the collector's database again:")
    click.echo(f"  dither-server estimate {name} --metrics {definition} --db sqlite:///{database}")


def _count(survey: Survey, seed: int, repeats: int) -> None:
    """Say how many intervals contain the truth, over repeats with consecutive seeds."""
    held = total = 0
    for one in range(seed, seed + repeats):
        roots = np.random.SeedSequence(one).spawn(len(survey.metrics))
        answers = [from_devices(survey, name, root) for name, root in zip(survey.metrics, roots, strict=True)]
        covered = np.concatenate([answer.covered for answer in answers])
        click.echo(f"seed {one}: {covered.sum()} of {len(covered)} intervals contain the truth")
        held, total = held + int(covered.sum()), total + len(covered)
    click.echo(f"in all: {held} of {total}, {held / total:.1%}; 95% are expected to")
