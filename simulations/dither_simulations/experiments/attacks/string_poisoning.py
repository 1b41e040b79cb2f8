"""Poisoning of strings: forged reports that make a string appear which nobody has.

An honest lie is the string. A crafted report supports it for certain, in rows and levels as the honest draw them; a
random report has cohorts as the honest draw them.

Of n honest reports a string is found about half the time where it has the share ``reach``. A forged report counts as
one person who holds it or, if crafted, as (1 - q)/(p - q) of them; so it takes reach·n of them, or fewer by that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from matplotlib.figure import Figure

from dither_server.estimation.strings.reach import reach
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError, Shape
from dither_shared.privacy.audit import lower_bound, upper_bound

from ...choices import ATTACKS, Attack
from ...options.common import check_names, given_fields
from ...output.lines import Line, Panel, lines_plot
from ...output.tables import Column, results_table, value
from ...samplers import sample_tally
from ...samplers.hashed import cohort_shares
from ...sweeps import Experiment, Row
from ...trials.measures import Measures
from ...trials.mechanism_by_name import DISCOVERING, STRING_MECHANISMS, named, named_discovery
from ...trials.string_trial import StringSetting, found_in
from ...users.populations import Counts, Population, apportion, zipf
from ...users.strings import WORDS, listed, made_up, spelled
from .poisoning import Cell

_SURE = 0.975
"""The confidence of each end of an interval."""


class Attacked(NamedTuple):
    """What all trials of a cell share."""

    attack: Attack
    trial: StringSetting
    honest: Population
    forged: int


@dataclass(frozen=True)
class StringPoisoning(Experiment):
    """Every attack, mechanism and share of forged reports, against a list or a discovery.

    The honest hold ``size`` strings by Zipf's law; ten times as many are listed. A row has how often a string that
    nobody has was found, with its interval at 95 % (Clopper and Pearson). ``needed`` is how many forged reports should
    do it about half the time; None where none do, or nothing says it.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    attacks: tuple[Attack, ...] = ATTACKS
    size: int = 1000
    epsilon: float = 1.0
    users: int = 1_000_000
    discover: DiscoveryQuestion | None = None
    repeats: int = 20
    seed: int = 0

    columns: ClassVar[Sequence[Column]] = (
        value("attack", "attack"),
        value("mechanism", "mechanism"),
        Column("forged %", lambda row: f"{100 * row['share']:g}"),
        value("forged", "reports", ","),
        Column("found %", lambda row: f"{100 * row['success']:.0f}"),
        Column("95 % interval", lambda row: f"{100 * row['low']:.0f} to {100 * row['high']:.0f}"),
        value("needed", "half at", ","),
    )

    @classmethod
    def asked(cls, seed: int, given: Mapping[str, Any]) -> Self:
        """Return the experiment that options ask for, by the names of its fields; raise ParameterError otherwise."""
        discover = given["discover"]
        known = STRING_MECHANISMS if discover is None else DISCOVERING
        check_names(given["names"], known)
        experiment = cls(**{"names": known, **given_fields(cls, given), "seed": seed})
        if discover is not None and len(discover.characters) ** discover.length <= experiment.size:
            raise ParameterError("--size", f"{experiment.size} strings leave no string that nobody has")
        for name in experiment.names:
            experiment.mechanism(name)  # what cannot be is refused before anything is computed
        return experiment

    def cells(self) -> list[Cell]:
        """Return the grid."""
        return [Cell(name, attack, share) for attack in self.attacks for name in self.names for share in self.shares]

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name; raise ParameterError if there is none."""
        if self.discover is not None:
            return named_discovery(name, self.discover, self.epsilon)
        return named(name, 0, self.epsilon)

    @cached_property
    def _strings(self) -> tuple[str, ...]:
        """The strings of the honest and, last, the one that nobody has."""
        question = self.discover
        characters, length = (WORDS, 12) if question is None else (question.characters, question.length)
        return made_up(self.size + 1, characters, length)

    def setting(self, cell: Cell) -> Attacked:
        """Return the mechanism, the honest and what is looked for."""
        mechanism = self.mechanism(cell.asked)
        shares = np.append(zipf(self.size, 1.1), 0.0)
        shares, labels = shares / shares.sum(), self._strings
        candidates = listed(labels, 10 * self.size)
        if self.discover is not None:
            labels, candidates = spelled(self.discover, mechanism, labels, shares).labels, ()
        trial = StringSetting(mechanism, labels, shares, self.users, candidates, self.discover)
        return Attacked(cell.attack, trial, Population(labels, apportion(shares, self.users)), self._number(cell))

    def _number(self, cell: Cell) -> int:
        return round(cell.share / (1 - cell.share) * self.users)

    def simulate(self, setting: Attacked, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return whether the string was found."""
        rng, trial = np.random.default_rng(seed), setting.trial
        forged = self._forge(setting, rng)
        found = found_in(trial, sample_tally(trial.mechanism, setting.honest, rng) + forged)
        return ({"found": float(trial.labels[-1] in found.labels)},)

    def _forge(self, setting: Attacked, rng: np.random.Generator) -> Tally:
        mechanism, target = setting.trial.mechanism, setting.trial.labels[-1]
        if setting.attack == "crafted-input":
            return sample_tally(mechanism, Population((target,), np.array([setting.forged])), rng)
        reports = rng.multinomial(setting.forged, cohort_shares(mechanism))
        item = target.encode("latin-1" if self.discover is not None else "utf-8")
        crafted = setting.attack == "crafted-report"
        lots = [
            _counts(mechanism, some, _marked(mechanism, item, cohort) if crafted else None, rng)
            for cohort, some in enumerate(reports.tolist())
        ]
        return Tally(reports, np.array(lots))

    def about(self, cell: Cell, setting: Any) -> Row:
        """Return the columns that describe a cell."""
        question = self.discover
        return {
            "attack": cell.attack,
            "mechanism": cell.asked,
            "discover": None if question is None else f"{question.alphabet}/{question.length}",
            "size": self.size,
            "epsilon": self.epsilon,
            "users": self.users,
            "share": cell.share,
            "forged": self._number(cell),
            "needed": self._needed(cell),
            "repeats": self.repeats,
            "seed": self.seed,
        }

    def rows(self, cell: Cell, outcomes: Sequence[Sequence[Measures]]) -> list[Row]:
        """Return how often the string was found."""
        tries, hits = len(outcomes), sum(int(trial["found"] or 0) for (trial,) in outcomes)
        ends = {"low": lower_bound(hits, tries, _SURE), "high": upper_bound(hits, tries, _SURE)}
        return [self.about(cell, None) | {"success": hits / tries, **ends}]

    def _needed(self, cell: Cell) -> int | None:
        mechanism = self.mechanism(cell.asked)
        if cell.attack == "random-report" or not mechanism.pure:
            return None
        p, q = float(mechanism.p), float(mechanism.q)
        worth = (1 - q) / (p - q) if cell.attack == "crafted-report" else 1.0
        return round(float(reach(mechanism, self.users, 10 * self.size)) * self.users / worth)

    def table(self, rows: Sequence[Row]) -> str:
        """Return a table of how often the string appeared."""
        return results_table(self.columns, rows, words=2)

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of how often it appeared against the share of forged reports, a panel per attack."""
        panels = [
            Panel(_lines(of), f"found by\n{attack}", log=False)
            for attack, of in groupby(rows, key=lambda row: row["attack"])
        ]
        title = f"A string that nobody has\n{self.users:,} honest users, ε = {self.epsilon:g}; band: 95 %"
        return lines_plot(panels, title, "share of forged reports")


def _lines(rows: Iterable[Row]) -> list[Line]:
    grouped = [(name, list(some)) for name, some in groupby(rows, key=lambda row: row["mechanism"])]
    return [
        Line(name, *([row[x] for row in some] for x in ("share", "success", "low", "high"))) for name, some in grouped
    ]


@lru_cache(maxsize=256)
def _marked(mechanism: Mechanism, item: bytes, cohort: int) -> tuple[int, ...]:
    """Return the cells that the string marks; remembered, because a hyperplane takes a second."""
    return mechanism.marked(item, cohort)


def _counts(mechanism: Mechanism, reports: int, marked: Sequence[int] | None, rng: np.random.Generator) -> Counts:
    """Return the cells of forged reports of a cohort: each has what is ``marked``, or all of them are random."""
    cells, every = np.zeros(mechanism.cells, dtype=np.int64), range(mechanism.cells)
    if mechanism.shape is Shape.SYMBOL:
        chosen = list(every if marked is None else marked)
        cells[chosen] = rng.multinomial(reports, np.full(len(chosen), 1 / len(chosen)))
        return cells
    cells += rng.binomial(reports, 0.5 if marked is None else float(mechanism.b), len(every))
    cells[list(marked or ())] = reports
    return cells
