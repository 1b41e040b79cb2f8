"""Accuracy and leaks beside pure-ldp and multi-freq-ldpy: ``python -m tests.benchmarks.accuracy``.

Each peer runs in an environment of its own, which pip builds in a cache folder, and with the same seed each time. Cases
come in parts (``--part``): ``theory``, for which nothing is run; ``errors`` of each library's best; and ``leaks``.
A case takes some seconds by the clock, so a busy machine means fewer users and runs, but errors of the same size. A
library that cannot be measured ends the run.

The risk is n times the total squared error of all k frequencies before any clipping, the histogram fixed:
k·V(0) + V(1) - V(0) with V(f) = q(1-q)/(p-q)² + f(1-p-q)/(p-q) (Wang et al. 2017), by the parameters that each
library's code derives. The optimum is that of subset selection with the best subset size (Ye and Barg 2019; Pan 2026).
Of the peers' mechanisms whose reports are private as handed out, direct encoding, OUE or OLH is the best in each cell:
SUE, BLH, SHE, THE, HM and HR are not better in any.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dither_shared import SubsetSelection
from dither_shared.mechanisms.auto import choose
from dither_shared.privacy.audit import lower_bound, upper_bound
from dither_simulations.users.populations import apportion, zipf

from .environments import Unavailable, prepare
from .peers.inside.driver import Case, Finding
from .tables import Part, run

SIZES, EPSILONS = (2, 4, 16, 128, 1024, 16384), (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
USERS, EXPONENT, DRAWS, SEED, CONFIDENCE = 100_000, 1.1, 100_000, 20261120, 0.999

PINS: dict[str, tuple[str, ...]] = {
    "dither": (),
    "pure-ldp": (
        *("pure-ldp==1.2.0", "numpy==1.26.4", "scipy==1.11.4", "scikit-learn==1.4.2", "statsmodels==0.14.2"),
        *("pandas==2.2.2", "xxhash==3.5.0"),
    ),
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5", "numpy==2.4.*", "scipy", "xxhash==3.5.0"),
}
MODULES = {"dither": "ours", "pure-ldp": "run_pure_ldp", "multi-freq-ldpy": "run_multi_freq_ldpy"}
"""The module of ``peers.inside`` to run in a library's environment."""

ATTACKED = {
    "dither": ("randomized-response", "local-hashing", "optimized-unary", "subset-selection"),
    "pure-ldp": ("DE", "OLH", "OUE", "RAPPOR"),
    "multi-freq-ldpy": ("GRR", "OLH", "OUE", "SS"),
}

Measure = Callable[[str, Sequence[Case]], Sequence[Finding]]
"""Measures cases of a library."""


class Chosen(NamedTuple):
    """The mechanism by which a library is compared, and its risk over the optimum."""

    mechanism: str
    relative_risk: float


def least(size: int, epsilon: float) -> float:
    """Return the risk of the optimum."""
    return SubsetSelection.calibrate(size, epsilon).risk


def chosen(library: str, size: int, epsilon: float) -> Chosen:
    """Return what ``auto`` chooses, or a peer's best; if two differ only by the rounding of floats, the first."""
    optimum, odds = least(size, epsilon), math.exp(epsilon)
    if library == "dither":
        mechanism = choose(size, epsilon, budget=64)
        return Chosen(mechanism.name, mechanism.risk / optimum)
    symbols = round(odds) + 1
    laws = {
        "DE" if library == "pure-ldp" else "GRR": (odds / (odds + size - 1), 1 / (odds + size - 1)),
        "OUE": (0.5, 1 / (odds + 1)),
        "OLH": (odds / (odds + symbols - 1), 1 / symbols),
    }
    offers = (Chosen(name, _risk(size, p, q) / optimum) for name, (p, q) in laws.items())
    return min(offers, key=lambda offer: round(offer.relative_risk, 9))


def _risk(size: int, p: float, q: float) -> float:
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)


def theory(size: int, _: int) -> Iterator[list[str]]:
    """Yield the risk of each library's best over the optimum."""
    for library in PINS:
        yield [f"{size:,}", library, *(f"{chosen(library, size, epsilon).relative_risk:.3f}" for epsilon in EPSILONS)]


def answers(library: str, cases: Sequence[Case]) -> Sequence[Finding]:
    """Return the finding of each case, measured in a library's environment by a process of its own.

    Raises Unavailable if that process fails.
    """
    python = prepare(library, *PINS[library]) if PINS[library] else Path(sys.executable)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "peers")}  # ``inside``, and little else
    command = (str(python), "-W", "ignore", "-m", f"inside.{MODULES[library]}")
    lines = "".join(f"{case.encode()}\n" for case in cases)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    findings = [Finding.decode(line) for line in done.stdout.splitlines()]
    if len(findings) < len(cases):
        raise Unavailable(f"{library}: its process ended at {cases[len(findings)]}")
    return findings


def errors(size: int, _: int, measure: Measure = answers) -> Iterator[list[str]]:
    """Yield measured errors over the least that theory allows."""
    counts = [int(count) for count in apportion(zipf(size, EXPONENT), USERS)]
    seeds = range(SEED + 10_000 * size, SEED + 10_000 * size + 100 * len(EPSILONS), 100)
    for library in PINS:
        cases = [
            Case("error", chosen(library, size, epsilon).mechanism, size, epsilon, seed, counts)
            for epsilon, seed in zip(EPSILONS, seeds, strict=True)
        ]
        ratios = [
            finding.error() / (least(size, finding.case.epsilon) / size / USERS) for finding in measure(library, cases)
        ]
        yield [f"{size:,}", library, *(f"{ratio:.2f}" for ratio in ratios)]


def leaks(library: str, _: int, measure: Measure = answers) -> Iterator[list[str]]:
    """Yield the privacy loss that is declared, and what an attack shows it to be at least."""
    cases = [
        Case("leak", mechanism, 16, 1.0, SEED + place, draws=DRAWS) for place, mechanism in enumerate(ATTACKED[library])
    ]
    for finding in measure(library, cases):
        at_least, event = leak(finding)
        words = ("listed first", "listed later", "not listed") if finding.case.mechanism == "SS" else _SUPPORTED
        shown = ", ".join(f"{value} {words[int(place)]}" for value, place in enumerate(event.split()))
        verdict = "within" if at_least <= finding.declared else "NOT PRIVATE"
        seen = [f"{judged.get(event, 0):,}" for judged in finding.judged]
        bounds = [f"{finding.declared:.3f}", f"{at_least:.3f}"]
        yield [library, finding.case.mechanism, *bounds, verdict, shown, *seen]


_SUPPORTED = ("not supported", "supported")


def leak(finding: Finding) -> tuple[float, str]:
    """Return a bound on the loss by the event that separates two inputs best in training, judged on other draws.

    An event is what a report shows of values 0 and 1.
    """
    draws, events = finding.case.draws, sorted(set().union(*finding.trained))
    _, event, item = max(
        (_bound(finding.trained, event, item, draws), event, item) for event in events for item in (0, 1)
    )
    return max(0.0, _bound(finding.judged, event, item, draws)), event


def _bound(seen: Sequence[dict[str, int]], event: str, item: int, draws: int) -> float:
    """Return ln of a lower bound of P[event | item] over an upper bound of P[event | the other]."""
    each = 1 - (1 - CONFIDENCE) / 2
    low = lower_bound(seen[item].get(event, 0), draws, each)
    return math.log(low / upper_bound(seen[1 - item].get(event, 0), draws, each)) if low > 0 else -math.inf


_GRID = ("k", "library", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))
_LEAKS = ("library", "mechanism", "ε declared", "ε at least", "", "a report shows of values 0 and 1", "of 0", "of 1")

PARTS = {
    "theory": Part("accuracy-theory", _GRID, [(size,) for size in SIZES], theory, 1, words=2),
    "leaks": Part("accuracy-leaks", _LEAKS, [(library,) for library in PINS], leaks, 1, words=2),
    "errors": Part("accuracy-measured", _GRID, [(size,) for size in SIZES if size >= 128], errors, 1, words=2),
}

if __name__ == "__main__":
    try:
        run(__doc__, **PARTS)
    except Unavailable as problem:
        sys.exit(str(problem))  # half a comparison is none
