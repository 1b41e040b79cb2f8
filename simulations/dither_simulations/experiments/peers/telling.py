"""What the bench does: it measures, and tells what it found as tables and rows."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from tqdm import tqdm

from ...options.run import Run
from ...sweeps.checkpoint import Journal
from . import tables
from .environments import LIBRARIES, PINS, default_folder
from .inside.protocol import Case, Finding
from .leaks import leak
from .measuring import EXPONENT, FULL, QUICK, USERS, Findings, Plan, cases, measure
from .sampled import Sampled, timed
from .tables import Table

__all__ = ["BenchRow", "measure_and_tell"]


@dataclass(frozen=True)
class BenchRow:
    """One finding; numbers of another kind of measurement are None.

    ``mse`` is before any clipping and at ``users`` users, ``loss_at_least`` the loss that an attack showed.
    ``users_measured`` took part in a run, and the error is scaled by n where they were fewer.
    """

    library: str
    kind: str
    mechanism: str
    size: int
    epsilon: float
    users: int
    users_measured: int
    mse: float | None = None
    mse_se: float | None = None
    mse_as_given: float | None = None
    reports_per_second: float | None = None
    estimate_seconds: float | None = None
    trial_seconds: float | None = None
    loss_declared: float | None = None
    loss_at_least: float | None = None


def measure_and_tell(run: Run, envs: Path | None, *, quick: bool, markdown: bool) -> None:
    """Measure all libraries, in environments that are kept in ``envs``, and print and write what is found."""
    plan, begun = replace(QUICK if quick else FULL, seed=run.seed), time.perf_counter()
    findings, problems = _measured(run, plan, envs or default_folder())
    samples = timed(findings)
    run.tell(list(_rows(findings, samples)), lambda: _text(findings, samples, markdown))
    for problem in problems:
        click.echo(f"not measured: {problem}", err=True)
    if not run.as_json:
        click.echo(_method(plan, time.perf_counter() - begun))


def _measured(run: Run, plan: Plan, envs: Path) -> tuple[Findings, list[str]]:
    journal = None if run.part is None else Journal(run.part, plan.identity())
    total = sum(len(cases(library, plan)) for library in LIBRARIES)
    try:
        with tqdm(total=total, unit="case", disable=None, leave=False) as bar:
            return measure(plan, envs, run.jobs or 2, journal, bar.update)
    finally:
        if journal is not None:
            journal.close()


def _text(findings: Findings, samples: Sequence[Sampled], markdown: bool) -> str:
    found = _tables(findings, samples)
    return "\n\n".join(table.markdown() if markdown else table.text() for table in found) + "\n"


def _tables(findings: Findings, samples: Sequence[Sampled]) -> Iterator[Table]:
    yield tables.risks(None)
    yield tables.risks(64)
    yield tables.ratios(findings)
    yield tables.errors(findings, 1.0)
    yield tables.errors(findings, 4.0)
    yield tables.rates(findings)
    yield tables.trials(samples)
    yield tables.leaks(findings)
    yield tables.bias(findings)


def _rows(findings: Findings, samples: Sequence[Sampled]) -> Iterator[BenchRow]:
    for library, found in findings.items():
        for one in found:
            yield _row(library, one)
    for sample in samples:
        for law, seconds in (("joint", sample.joint_seconds), ("marginal", sample.marginal_seconds)):
            name = f"{sample.ours}, {law} law"
            yield BenchRow("dither", "trial", name, 1024, 1.0, USERS, USERS, trial_seconds=seconds)
        yield BenchRow(sample.peer, "trial", sample.theirs, 1024, 1.0, USERS, USERS, trial_seconds=sample.peer_seconds)


def _row(library: str, one: Finding) -> BenchRow:
    case = one.case
    row = BenchRow(library, case.kind, case.mechanism, case.size, case.epsilon, USERS, one.users)
    if case.kind == "error":
        mse, error = one.error()
        given = one.error_given()
        return replace(row, mse=mse, mse_se=error, mse_as_given=None if given is None else given[0])
    if case.kind == "rate":
        return replace(row, reports_per_second=1 / one.report_seconds, estimate_seconds=one.estimate_seconds)
    return replace(row, loss_declared=one.declared, loss_at_least=leak(one).at_least)


def _method(plan: Plan, seconds: float) -> str:
    """Return how it was measured."""
    versions = "; ".join(", ".join(pins) for pins in PINS.values())
    return (
        f"n = {USERS:,} users, Zipf {EXPONENT}, one report each; seed {plan.seed}; about {plan.seconds:g} s and at "
        f"most {Case.runs} runs a case. Peers: {versions}. Took {seconds:.0f} s."
    )
