"""Write the bench's tables, as text for a terminal or as markdown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dither_shared.counted import counted

from . import theory
from .cases import Findings
from .environments import LIBRARIES
from .inside.protocol import Finding
from .leaks import CONFIDENCE, leak
from .theory import EPSILONS, PEERS, SIZES

_NONE = "-"

_FEWER = "From fewer users where time or 1 GiB of reports allowed no more, and scaled by n."


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, with a title and a note on how to read them."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """Return columns of equal width."""
        lines = (self.head, *self.rows)
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        body = ["  ".join(f"{one:>{width}}" for one, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join((self.title, "", *body, *(("", self.note) if self.note else ())))


def _grid(title: str, entry: Callable[[int, float], str], note: str, sizes: Sequence[int] = SIZES) -> Table:
    head = ["k", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    return Table(title, head, [[f"{size:,}", *(entry(size, epsilon) for epsilon in EPSILONS)] for size in sizes], note)


def risks(budget: int | None) -> Table:
    """Return the risk of each library's best over the optimum; peers' reports of at most ``budget`` bytes."""

    def entry(size: int, epsilon: float) -> str:
        found = [theory.ours(size, epsilon), *(theory.best(peer, size, epsilon, budget) for peer in PEERS)]
        return " / ".join(f"{one.relative_risk:.3f}" for one in found)

    limit = "their reports of any length" if budget is None else f"their reports of at most {budget} bytes too"
    cells = [(size, epsilon) for size in SIZES for epsilon in EPSILONS]
    subset = max(
        offer.relative_risk
        for cell in cells
        for offer in theory.offers("multi-freq-ldpy", *cell)
        if offer.mechanism == "SS"
    )
    longer = max(theory.ours(*cell, budget=1 << 11).relative_risk for cell in cells)
    note = (
        "By the parameters that each library's code derives, of the best of its mechanisms whose reports are private "
        "as handed out (DE or GRR where k is small beside e^ε, elsewhere OUE or OLH). multi-freq-ldpy's subset "
        f"selection, at most {subset:.3f} everywhere, is not: see what reports tell. auto's reports have at most 64 "
        f"bytes; with report_budget = 2048 its risk is at most {longer:.3f} everywhere."
    )
    return _grid(f"Total risk over the optimum: auto / {' / '.join(PEERS)}, {limit}", entry, note)


def _of(findings: Findings, library: str, size: int, epsilon: float, mechanism: str | None = None) -> Finding | None:
    """Return the error measured of a library's best, or of ``mechanism``."""
    mechanism = mechanism or theory.chosen(library, size, epsilon)
    for finding in findings[library]:
        case = finding.case
        if (case.kind, case.mechanism, case.size, case.epsilon) == ("error", mechanism, size, epsilon):
            return finding
    return None


def _optimum(finding: Finding) -> float:
    """Return the least mean squared error that an unbiased mechanism can have there."""
    case = finding.case
    return theory.least(case.size, case.epsilon) / case.size / sum(case.counts)


def ratios(findings: Findings) -> Table:
    """Return measured errors over the least that theory allows."""
    sizes = [size for size in SIZES if size >= 128]
    spreads = [0.0]

    def entry(size: int, epsilon: float) -> str:
        return " / ".join(ratio(_of(findings, library, size, epsilon)) for library in LIBRARIES)

    def ratio(finding: Finding | None) -> str:
        if finding is None:
            return _NONE
        mean, deviation = finding.error()
        spreads.append(deviation / mean)
        return f"{mean / _optimum(finding):.2f}"

    title = f"Measured mean squared error, before any clipping, over the least possible: {' / '.join(LIBRARIES)}"
    table = _grid(title, entry, "", sizes)
    return Table(table.title, table.head, table.rows, f"Standard errors of at most {max(spreads):.0%}. {_FEWER}")


def leaks(findings: Findings) -> Table:
    """Return the privacy loss that is declared, and what an attack shows it to be at least."""
    rows, draws = [], 0
    for library in LIBRARIES:
        for finding in findings[library]:
            if finding.case.kind == "leak":
                shown, draws = leak(finding), finding.case.draws
                verdict = "within" if shown.at_least <= finding.declared else "NOT PRIVATE"
                seen = [f"{count:,}" for count in shown.seen]
                bounds = [f"{bound:.3f}" for bound in (finding.declared, shown.at_least)]
                rows.append([library, finding.case.mechanism, *bounds, verdict, shown.event, *seen])
    head = ["library", "mechanism", "ε declared", "ε at least", "", "a report shows of values 0 and 1", "of 0", "of 1"]
    note = (
        f"{counted(draws, 'report')} of value 0 and as many of value 1, of k = 16; the last columns say how many of "
        "them show what the column before says, which was chosen on as many others. At least with confidence "
        f"{CONFIDENCE:.1%}."
    )
    return Table("What reports tell", head, rows, note)
