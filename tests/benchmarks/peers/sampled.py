"""Time a trial of the simulator beside a trial of a peer, which reports for every user and then estimates."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dither_simulations.samplers import has_marginal
from dither_simulations.trials.mechanism_by_name import named
from dither_simulations.trials.trial import Setting, run_bare_trial
from dither_simulations.users.populations import Population, numbered, zipf

from .cases import EXPONENT, USERS, Findings
from .inside.protocol import Finding

if TYPE_CHECKING:
    from dither_simulations.choices import Law


_SAME = {
    "DE": "randomized-response",
    "GRR": "randomized-response",
    "OLH": "local-hashing",
    "OUE": "optimized-unary",
    "SS": "subset-selection",
}
"""Our mechanism for each of a peer's."""

_RUNS = 7


@dataclass(frozen=True)
class Sampled:
    """Seconds of one trial, without intervals: a peer's, and ours under either law; the least of several runs."""

    peer: str
    theirs: str
    ours: str
    peer_seconds: float
    joint_seconds: float
    marginal_seconds: float


def timed(findings: Findings) -> list[Sampled]:
    """Return the times of each mechanism of the peers that was rated and is one of ours; at its size and ε."""
    rated = [
        (library, one)
        for library, found in findings.items()
        for one in found
        if one.case.kind == "rate" and library != "dither" and one.case.mechanism in _SAME
    ]
    return [_timed(library, one) for library, one in rated]


def _timed(library: str, finding: Finding) -> Sampled:
    case = finding.case
    population = Population.spread(numbered(case.size), zipf(case.size, EXPONENT), USERS)
    mechanism = named(_SAME[case.mechanism], case.size, case.epsilon)
    laws: tuple[Law, Law] = ("joint", "marginal" if has_marginal(mechanism) else "joint")
    joint, marginal = (_seconds(Setting(mechanism, population, law=law)) for law in laws)
    peer = USERS * finding.report_seconds + finding.estimate_seconds
    return Sampled(library, case.mechanism, mechanism.name, peer, joint, marginal)


def _seconds(setting: Setting) -> float:
    def once(seed: int) -> float:
        begun = time.perf_counter()
        run_bare_trial(setting, np.random.SeedSequence(seed))
        return time.perf_counter() - begun

    return min(once(seed) for seed in range(_RUNS))
