"""The command ``dither-sim audit``: attack the installed randomizers (``dither_shared.privacy.audit``)."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from dither_shared import MECHANISMS, KeyedEntropy, Mechanism, SystemEntropy
from dither_shared.counted import counted
from dither_shared.privacy import audit as attacks

from ..mechanism_by_name import DISCOVERING, NAMES, NUMERIC, SET_MECHANISMS, named
from ..options import (
    Run,
    confidence_of,
    epsilon_option,
    mechanism_option,
    permanent_option,
    reports_of,
    run_options,
    size_option,
)
from ..tables import ResultColumn, results_table, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sweeps import Row

_COLUMNS = (
    value("mechanism", "mechanism"),
    value("reports", "reports", ","),
    value("declared", "declared ε", ".4f"),
    value("lower_bound", "at least", ".4f"),
    value("event", "by the event"),
    ResultColumn("", lambda row: "pass" if row["passed"] else "FAIL"),
)


def audit_row(task: tuple[Mechanism, int, int, float, int | None]) -> "Row":
    """Attack a mechanism, given the reports of a series, the draws, the confidence and the seed.

    The stream depends on the seed and on the mechanism, so that the order of audits does not matter; without a seed it
    is the operating system's. Returns the finding and its verdict.
    """
    mechanism, reports, draws, confidence, seed = task
    keyed = KeyedEntropy(b"dither-sim audit", str(seed).encode(), mechanism.name.encode())
    finding = attacks.audit(mechanism, SystemEntropy() if seed is None else keyed, draws, reports, confidence)
    return asdict(finding) | {"passed": finding.passed}


def table(rows: "Sequence[Row]") -> str:
    """Return the findings as a table for a terminal, with their meaning."""
    first = rows[0]
    failed = dict.fromkeys(row["mechanism"] for row in rows if not row["passed"])
    verdict = "none reveals more than it declares"
    if failed:
        verdict = click.style(f"VIOLATED by {', '.join(failed)}", fg="red", bold=True)
    return "\n".join(
        (
            results_table(_COLUMNS, rows),
            "",
            f"{counted(first['draws'], 'report')} of each of two inputs; "
            f"bounds at {100 * first['confidence']:g} % each: {verdict}.",
            "An audit can find a randomizer that leaks; only the exact laws prove that none does.",
        )
    )


@click.command()
@mechanism_option(
    (*NAMES, *NUMERIC, *SET_MECHANISMS, *DISCOVERING), "Attack this mechanism; repeatable.  [default: every mechanism]"
)
@epsilon_option
@size_option
@permanent_option
@click.option(
    "--draws",
    type=click.IntRange(100, 10**9),
    default=1_000_000,
    show_default=True,
    help="Draw this many reports of each of two inputs.",
)
@click.option(
    "--reports", callback=reports_of, default="1", show_default=True, help="Reports of one device, or a list."
)
@click.option(
    "--confidence", callback=confidence_of, default="0.999", show_default=True, help="Confidence level of each bound."
)
@click.option(
    "--system", is_flag=True, help="Draw noise from the operating system, as devices do, and not from --seed."
)
@run_options
@click.pass_context
def audit(
    context: click.Context,
    run: Run,
    names: tuple[str, ...],
    epsilon: float,
    size: int,
    permanent_epsilon: float | None,
    draws: int,
    reports: tuple[int, ...],
    confidence: float,
    system: bool,
) -> None:
    """Attack the installed randomizers: measure how much their reports reveal, and compare it with what they declare.

    Exit status 1 if one reveals more than it declares.
    """
    from tqdm import tqdm

    chosen = tuple(dict.fromkeys(names or tuple(MECHANISMS)))
    audits = [
        (mechanism, count, draws, confidence, None if system else run.seed)
        for name in chosen
        for mechanism in [named(name, size, epsilon, permanent_epsilon, at_most=size // 2)]
        for count in reports
    ]
    with run.workers() as spread:
        rows = list(tqdm(spread(audit_row, audits), total=len(audits), unit="audit", disable=None, leave=False))
    run.show(rows, lambda: table(rows))
    if not all(row["passed"] for row in rows):
        context.exit(1)
