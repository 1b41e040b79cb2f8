"""Choose which case of which library is measured, and measure it."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from ...sweeps.checkpoint import Journal
from ...sweeps.sweep import identity_of
from ...users.populations import apportion, zipf
from . import theory
from .environments import LIBRARIES, PINS, Unavailable, answers, prepare
from .inside.protocol import Case, Finding, decode_finding

__all__ = ["EXPONENT", "FULL", "QUICK", "USERS", "Findings", "Plan", "cases", "measure"]

USERS = 100_000
EXPONENT = 1.1

Findings = dict[str, list[Finding]]
"""By library."""

_RATED = {
    "dither": ("randomized-response", "projective-geometry", "local-hashing", "optimized-unary", "subset-selection"),
    "pure-ldp": ("DE", "OLH", "FLH", "OUE"),
    "multi-freq-ldpy": ("GRR", "OLH", "OUE", "SS"),
}
_ATTACKED = {
    "dither": ("randomized-response", "local-hashing", "optimized-unary", "subset-selection"),
    "pure-ldp": ("DE", "OLH", "OUE", "RAPPOR"),
    "multi-freq-ldpy": ("GRR", "OLH", "OUE", "SS"),
}
_ALSO = {"dither": (), "pure-ldp": ("FLH", "PCS"), "multi-freq-ldpy": ()}
"""Whose estimates are looked at for a bias, at k = 1,024 and ε = 1, though they have not the least risk."""

_LONGEST_FIRST = ("multi-freq-ldpy", "pure-ldp", "dither")


@dataclass(frozen=True)
class Plan:
    """The extent of a bench: how many cases, and how long each may take."""

    epsilons: Sequence[float] = theory.EPSILONS
    seconds: float = 5.0
    rounds: int = 2
    draws: int = 100_000
    seed: int = 20261120

    def identity(self) -> str:
        """Return a digest that differs from every other plan's."""
        return identity_of(self, PINS)


FULL = Plan()
QUICK = Plan(epsilons=(1.0, 4.0), seconds=1.0, rounds=1, draws=20_000)


def measure(
    plan: Plan, envs: Path, jobs: int = 2, journal: Journal | None = None, step: Callable[[int], object] = int
) -> tuple[Findings, list[str]]:
    """Return the findings of each library, and the libraries that could not be measured.

    Rates come first, one library after the other, each with the machine to itself; then the rest, ``jobs`` libraries at
    a time. Cases that ``journal`` has are not measured again. ``step`` is called with each finding.
    """
    measuring = _Measuring(plan, envs, journal, step)
    for library in LIBRARIES:
        measuring.carry_out(library, rates=True)
    with ThreadPoolExecutor(jobs) as lanes:
        list(lanes.map(measuring.carry_out, _LONGEST_FIRST))
    return measuring.findings(), measuring.problems


def cases(library: str, plan: Plan) -> list[Case]:
    """Return the cases to measure of a library."""
    return [*_rates(library, plan), *_leaks(library, plan), *_errors(library, plan)]


class _Measuring:
    """The state of a bench; its places are those of all cases, library by library."""

    def __init__(self, plan: Plan, envs: Path, journal: Journal | None, step: Callable[[int], object]) -> None:
        self._envs, self._journal, self._step = envs, journal, step
        self._cases = [(library, case) for library in LIBRARIES for case in cases(library, plan)]
        known = {} if journal is None else journal.done
        self._found = {place: decode_finding(json.dumps(row)) for place, (row,) in known.items()}
        self._lock = Lock()
        self.problems: list[str] = []
        step(len(self._found))

    def findings(self) -> Findings:
        """Return the findings."""
        return {
            library: [
                self._found[place]
                for place, (of, _) in enumerate(self._cases)
                if of == library and place in self._found
            ]
            for library in LIBRARIES
        }

    def carry_out(self, library: str, rates: bool = False) -> None:
        """Measure what is not measured yet: a library's rates, or all its other cases."""
        left = [
            place
            for place, (of, case) in enumerate(self._cases)
            if of == library and (case.kind == "rate") is rates and place not in self._found
        ]
        if not left or any(problem.startswith(library) for problem in self.problems):
            return
        try:
            missing = [self._cases[place][1] for place in left]
            for place, finding in zip(left, answers(library, prepare(library, self._envs), missing), strict=True):
                self._keep(place, finding)
        except Unavailable as problem:
            self.problems.append(str(problem))

    def _keep(self, place: int, finding: Finding) -> None:
        with self._lock:
            self._found[place] = finding
            if self._journal is not None:
                self._journal.append(place, [finding])
            self._step(1)


def _rates(library: str, plan: Plan) -> Iterator[Case]:
    for place, mechanism in enumerate(_RATED[library]):
        yield Case(
            "rate", mechanism, 1024, 1.0, plan.seed + place, _users(1024), seconds=plan.seconds, runs=plan.rounds
        )


def _leaks(library: str, plan: Plan) -> Iterator[Case]:
    for place, mechanism in enumerate(_ATTACKED[library]):
        yield Case("leak", mechanism, 16, 1.0, plan.seed + place, draws=plan.draws)


def _errors(library: str, plan: Plan) -> Iterator[Case]:
    for size in theory.SIZES:
        for place, epsilon in enumerate(plan.epsilons):
            for which, mechanism in enumerate(_compared(library, size, epsilon)):
                seed = plan.seed + 10_000 * size + 100 * place + which
                yield Case("error", mechanism, size, epsilon, seed, _users(size), seconds=plan.seconds)


def _compared(library: str, size: int, epsilon: float) -> Iterator[str]:
    """Yield the mechanisms to measure: a library's best, those that would be better but leak, and those with a bias."""
    yield theory.chosen(library, size, epsilon)
    if library == "dither":
        return
    yield from (one.mechanism for one in theory.offers(library, size, epsilon) if not one.private)
    if (size, epsilon) == (1024, 1.0):
        yield from _ALSO[library]


def _users(size: int) -> list[int]:
    return [int(count) for count in apportion(zipf(size, EXPONENT), USERS)]
