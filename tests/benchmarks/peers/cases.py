"""List the cases that are measured of each library."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dither_simulations.users.populations import apportion, zipf

from . import theory
from .inside.protocol import Case, Finding

USERS = 100_000
EXPONENT = 1.1

Findings = dict[str, list[Finding]]
"""By library."""

_ATTACKED = {
    "dither": ("randomized-response", "local-hashing", "optimized-unary", "subset-selection"),
    "pure-ldp": ("DE", "OLH", "OUE", "RAPPOR"),
    "multi-freq-ldpy": ("GRR", "OLH", "OUE", "SS"),
}


@dataclass(frozen=True)
class Plan:
    """The extent of a bench: how many cases, and how long each may take."""

    epsilons: Sequence[float] = theory.EPSILONS
    seconds: float = 5.0
    draws: int = 100_000
    seed: int = 20261120


FULL = Plan()


def cases(library: str, plan: Plan) -> list[Case]:
    """Return the cases to measure of a library."""
    return [*_leaks(library, plan), *_errors(library, plan)]


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
    """Yield the mechanisms to measure: a library's best, and mechanisms that would be better but leak."""
    yield theory.chosen(library, size, epsilon)
    if library == "dither":
        return
    yield from (offer.mechanism for offer in theory.offers(library, size, epsilon) if not offer.private)


def _users(size: int) -> list[int]:
    return [int(count) for count in apportion(zipf(size, EXPONENT), USERS)]
