"""Format answers as tables for a terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dither_shared.counted import counted

from ..analysis.composition import rounded_up

if TYPE_CHECKING:
    from dither_shared import Metric

    from ..reading.summaries.terminal_text import TextTable


_FOLDED = "last fold began {}; reports received shortly before it, or since, will be counted by a later one"


def as_text(table: "TextTable") -> str:
    """Return an answer as lines, with aligned rows."""
    rows = aligned([[printable(cell) for cell in row] for row in table.rows])
    parts = [part for part in (table.before, rows, table.after) if part]
    lines = [line for part in parts for line in ("", *part)][1:]
    return "\n\n".join(["\n".join(lines), *map(as_text, table.more)])


def headed(table: "TextTable", *answers: Mapping[str, Any]) -> "TextTable":
    """Return a table with lines above it: the strata of an answer or two sides, sealed reports, and the last fold."""
    names = ("",) if len(answers) == 1 else ("first: ", "second: ")
    lines = [
        name + ", ".join(f"{attribute} {value or 'any'}" for attribute, value in one["stratum"].items())
        for name, one in zip(names, answers, strict=True)
        if "stratum" in one
    ]
    lines += [_sealed(one["sealed"]) for one in answers if "sealed" in one]
    lines += [_FOLDED.format(_time(one["folded_up_to"])) for one in answers if "folded_up_to" in one]
    return table._replace(before=[*map(printable, lines), *table.before])


def _sealed(answer: Mapping[str, Any]) -> str:
    among = f"shuffled among at least {answer['least_total']:,} according to their relay"
    worth = answer.get("shuffled", {})
    privacy = (
        f"; to someone who sees only a batch, ε of a report is {rounded_up(worth['epsilon'], 3)}"
        f" (δ = {worth['delta']:g})"
        if "epsilon" in worth
        else ""
    )
    return f"{answer['reports']:,} of the reports came sealed, {among}{privacy}"


def _time(answer: str) -> str:
    return answer.replace("T", " ").replace("Z", " UTC")


def print_answers(
    metric: "Metric", answers: Sequence[Mapping[str, Any]], *, as_json: bool = False, several: bool = False
) -> None:
    """Print the answers about a metric, a blank line between them; as JSON a list, if there may be ``several``."""
    from ..reading.summaries import summary_of

    if as_json:
        click.echo(json.dumps(answers if several else answers[0], indent=2, allow_nan=False))
        return
    for place, answer in enumerate(answers):
        click.echo("\n" * (place > 0) + as_text(headed(summary_of(metric).text(answer), answer)))


def combined_text(answer: Mapping[str, Any], *, is_number: bool) -> "TextTable":
    """Return a combination of versions for a terminal: shares in percent, or a mean in its unit."""
    from ..reading.summaries.terminal_text import TextTable, percent

    def written(number: float | None) -> str:
        return percent(number) if not is_number else "-" if number is None else f"{number:.4g}"

    reports, versions = counted(answer["reports"], "report"), counted(len(answer["versions"]), "version")
    head = f"{answer['metric']}: {reports} of {versions}, {100 * answer['confidence']:g}% intervals"
    rows = [
        (row["value"], written(row["frequency"]), f"{written(row['low'])} to {written(row['high'])}", "")
        for row in answer["values"]
    ]
    before = [head, f"versions: {', '.join(answer['versions'])}"]
    return TextTable(before, [("value", "mean" if is_number else "share %", "interval", ""), *rows])


def printable(label: str) -> str:
    """Return a label in which no character can steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines whose columns are aligned: the first and the last to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_placed(row, widths)).rstrip() for row in rows]


def _placed(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    last = len(cells) - 1
    return [
        cell.rjust(width) if 0 < place < last else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
