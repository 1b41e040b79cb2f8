"""The commands ``plan`` and ``audit`` of ``dither-sim``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from tqdm import tqdm

from dither_shared import MECHANISMS, Entropy, KeyedEntropy, Mechanism, SystemEntropy
from dither_shared.audit import Finding

from . import auditing
from .files import json_rows, write_rows
from .naming import NAMES, named
from .options import json_option, new_file, positive, share, users_of
from .planning import Question, advise, explain

__all__ = ["audit", "plan"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_out = click.option("--out", type=_FILE, callback=new_file, help="Write the results, as .csv or .json.")
_permanent = click.option(
    "--permanent-epsilon", callback=positive, metavar="ε", help="Of any number of reports of one value: memoisation."
)


@click.command()
@click.option("-k", "--size", type=click.IntRange(2, 1 << 20), required=True, help="How many values.")
@click.option("--epsilon", callback=positive, metavar="ε", required=True, help="Of one report.")
@_permanent
@click.option("--report-budget", type=click.IntRange(1, 1 << 20), default=64, show_default=True, help="In bytes.")
@click.option("-n", "--users", callback=users_of, metavar="NUMBER", help="How many users there are.")
@click.option(
    "--error",
    callback=share,
    default="0.01",
    show_default=True,
    help="Wanted: half of a rare value's interval at --confidence.",
)
@click.option("--confidence", callback=share, default="0.95", show_default=True)
@json_option
@_out
def plan(
    size: int,
    epsilon: float,
    permanent_epsilon: float | None,
    report_budget: int,
    users: int | None,
    error: float,
    confidence: float,
    as_json: bool,
    out: Path | None,
) -> None:
    """Choose a mechanism: what each would cost and tell, and how many users it takes."""
    advice = advise(Question(size, epsilon, permanent_epsilon, report_budget, users, error, confidence))
    click.echo(json_rows(advice.choices) if as_json else explain(advice), nl=not as_json)
    if out is not None:
        write_rows(out, advice.choices)


@click.command()
@click.option(
    "--mechanism", "names", type=click.Choice(NAMES), multiple=True, help="Repeatable.  [default: every mechanism]"
)
@click.option("--epsilon", callback=positive, metavar="ε", default="1", show_default=True, help="Of one report.")
@click.option("-k", "--size", type=click.IntRange(2, 1 << 20), default=16, show_default=True, help="How many values.")
@_permanent
@click.option(
    "--draws",
    type=click.IntRange(100, 10**9),
    default=1_000_000,
    show_default=True,
    help="Reports of each of two inputs.",
)
@click.option("--reports", type=click.IntRange(1, 10_000), default=1, show_default=True, help="By one device.")
@click.option("--seed", type=click.IntRange(min=0), help="For a repeatable audit.  [default: the system's randomness]")
@json_option
@_out
@click.pass_context
def audit(
    context: click.Context,
    names: tuple[str, ...],
    epsilon: float,
    size: int,
    permanent_epsilon: float | None,
    draws: int,
    reports: int,
    seed: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Attack the installed randomizers: what their reports tell is measured and held against what they declare.

    Ends with status 1 if one tells more than it declares.
    """
    asked = tuple(dict.fromkeys(names or tuple(MECHANISMS)))
    mechanisms = [named(name, size, epsilon, permanent_epsilon) for name in asked]
    findings = list(_findings(mechanisms, draws, reports, seed))
    rows = [auditing.row(finding) for finding in findings]
    click.echo(json_rows(rows) if as_json else auditing.table(findings), nl=not as_json)
    if out is not None:
        write_rows(out, rows)
    if not all(finding.passed for finding in findings):
        context.exit(1)


def _findings(mechanisms: Sequence[Mechanism], draws: int, reports: int, seed: int | None) -> Iterator[Finding]:
    """Audit one mechanism after the other, with a bar on standard error if that is a terminal."""
    for mechanism in tqdm(mechanisms, unit="mechanism", disable=None, leave=False):
        yield auditing.audit(mechanism, _entropy(seed, mechanism.name), draws, reports)


def _entropy(seed: int | None, name: str) -> Entropy:
    """Return a stream that depends on the seed and on the mechanism, so that no order of audits matters."""
    return SystemEntropy() if seed is None else KeyedEntropy(b"dither-sim audit", str(seed).encode(), name.encode())
