"""The bench: what is measured of whom, and what is written of it."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from dither_simulations.populations import apportion, zipf
from peers import tables, theory
from peers.environments import LIBRARIES, PINS, Unavailable, answers, default_folder, prepare
from peers.leaks import leak
from peers.protocol import Case, Finding
from peers.tables import Table

__all__ = ["main"]

USERS = 100_000
EXPONENT = 1.1

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
    """How much is measured."""

    epsilons: Sequence[float] = theory.EPSILONS
    seconds: float = 5.0
    rounds: int = 2
    draws: int = 100_000
    seed: int = 20261120


QUICK = Plan(epsilons=(1.0, 4.0), seconds=1.0, rounds=1, draws=20_000)


def main() -> None:
    """Measure, print tables, write files."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about two minutes: fewer cells, shorter runs")
    parser.add_argument("--envs", type=Path, default=default_folder(), help="the peers' environments (%(default)s)")
    parser.add_argument("--json", type=Path, help="write every finding to this file")
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    options = parser.parse_args()
    begun = time.perf_counter()
    chosen = QUICK if options.quick else Plan()
    plan = Plan(chosen.epsilons, chosen.seconds, chosen.rounds, chosen.draws, options.seed)
    findings, trouble = _measured(plan, options.envs)
    if options.json:
        options.json.write_text(json.dumps(_written(findings, plan), indent=1), encoding="utf-8")
    for table in _tables(findings):
        print((table.markdown() if options.markdown else table.text()) + "\n")
    for problem in trouble:
        print(f"not measured: {problem}")
    print(_method(plan, time.perf_counter() - begun))


def _measured(plan: Plan, envs: Path) -> tuple[dict[str, list[Finding]], list[str]]:
    """Measure rates one library after the other, with the machine to itself, and then the rest on two cores."""
    findings: dict[str, list[Finding]] = {library: [] for library in LIBRARIES}
    trouble: list[str] = []

    def measure(library: str, cases: list[Case]) -> None:
        if any(problem.startswith(library) for problem in trouble):
            return
        try:
            for finding in answers(library, prepare(library, envs), cases):
                findings[library].append(finding)
                case = finding.case
                print(f"{library} {case.kind} {case.mechanism} k={case.size} ε={case.epsilon:g}", file=sys.stderr)
        except Unavailable as problem:
            trouble.append(str(problem))

    for library in LIBRARIES:
        measure(library, list(_rates(library, plan)))
    with ThreadPoolExecutor(2) as lanes:
        cases = ([*_leaks(library, plan), *_errors(library, plan)] for library in _LONGEST_FIRST)
        list(lanes.map(measure, _LONGEST_FIRST, cases))
    return findings, trouble


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
    """Yield what is measured: a library's best, what would be better but leaks, and what is looked at for a bias."""
    if library == "dither":
        yield theory.ours(size, epsilon).mechanism
        return
    yield theory.best(library, size, epsilon).mechanism
    yield from (one.mechanism for one in theory.offers(library, size, epsilon) if not one.private)
    if (size, epsilon) == (1024, 1.0):
        yield from _ALSO[library]


def _users(size: int) -> list[int]:
    return [int(count) for count in apportion(zipf(size, EXPONENT), USERS)]


def _tables(findings: dict[str, list[Finding]]) -> Iterator[Table]:
    yield tables.risks(None)
    yield tables.risks(64)
    yield tables.ratios(findings)
    yield tables.errors(findings, 1.0)
    yield tables.errors(findings, 4.0)
    yield tables.rates(findings)
    yield tables.leaks(findings)
    yield tables.bias(findings)


def _written(findings: dict[str, list[Finding]], plan: Plan) -> dict[str, object]:
    """Return everything, but for the users of each case, which follow from its size."""

    def plain(finding: Finding) -> dict[str, object]:
        case = {key: value for key, value in asdict(finding.case).items() if key != "counts"}
        derived: dict[str, object] = {"leak": asdict(leak(finding))} if finding.trained else {}
        if finding.raw:
            derived = dict(zip(("mse", "mse_standard_error"), finding.error(), strict=True))
        return {**asdict(finding), "case": case, **derived}

    risks = [
        {"size": size, "epsilon": epsilon, "library": library, **asdict(offer)}
        for size in theory.SIZES
        for epsilon in theory.EPSILONS
        for library, found in (
            ("dither", [theory.ours(size, epsilon)]),
            *((peer, theory.offers(peer, size, epsilon)) for peer in theory.PEERS),
        )
        for offer in found
    ]
    measured = {library: [plain(one) for one in found] for library, found in findings.items()}
    return {"plan": asdict(plan), "pins": PINS, "users": USERS, "zipf": EXPONENT, "risks": risks, "findings": measured}


def _method(plan: Plan, seconds: float) -> str:
    """Return how it was measured."""
    versions = "; ".join(", ".join(pins) for pins in PINS.values())
    return (
        f"n = {USERS:,} users, Zipf {EXPONENT}, one report each; seed {plan.seed}; about {plan.seconds:g} s and at "
        f"most {Case.runs} runs a case. Peers: {versions}. Took {seconds:.0f} s."
    )
