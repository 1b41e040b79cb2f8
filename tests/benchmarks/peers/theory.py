"""Compute the theoretical risk of each library's mechanisms, by the parameters that its code derives.

The risk is n times the total squared error of all k frequencies before any clipping, the histogram fixed:
k·V(0) + V(1) - V(0) with V(f) = q(1-q)/(p-q)² + f(1-p-q)/(p-q) (Wang et al. 2017). The optimum is that of subset
selection with the best subset size (Ye and Barg 2019; Pan 2026).

Left out are the sketches (their noise is that of unary encoding or of two-symbol hashing, and collisions come on top)
and quantities that ε does not govern.
"""

import math
from dataclasses import dataclass

from dither_shared import SubsetSelection
from dither_shared.mechanisms.auto import choose

SIZES = (2, 4, 16, 128, 1024, 16384)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
PEERS = ("pure-ldp", "multi-freq-ldpy")

_SEED_BYTES = 8
"""Of the fresh hash seed that both libraries draw for each report of local hashing."""


@dataclass(frozen=True)
class Offer:
    """A mechanism that a library has for a survey."""

    mechanism: str
    relative_risk: float
    report_bytes: int
    """Packed as tightly as dither packs; the libraries hand out Python objects and arrays of int64 or float64."""
    private: bool = True
    """Whether its reports are ε-LDP as the library hands them out."""


def ours(size: int, epsilon: float, budget: int = 64) -> Offer:
    """Return the mechanism that ``auto`` chooses."""
    mechanism = choose(size, epsilon, budget=budget)
    return Offer(mechanism.name, mechanism.risk / least(size, epsilon), mechanism.row_bytes)


def best(library: str, size: int, epsilon: float, budget: int | None = None) -> Offer:
    """Return a peer's private mechanism of least risk whose reports take at most ``budget`` bytes.

    If two differ only by the rounding of floats, the one named first is taken.
    """
    fitting = [offer for offer in offers(library, size, epsilon) if budget is None or offer.report_bytes <= budget]
    return min((one for one in fitting if one.private), key=lambda one: round(one.relative_risk, 9))


def chosen(library: str, size: int, epsilon: float) -> str:
    """Return the mechanism by which a library is compared: what ``auto`` chooses, or a peer's best."""
    return (ours(size, epsilon) if library == "dither" else best(library, size, epsilon)).mechanism


def offers(library: str, size: int, epsilon: float) -> list[Offer]:
    """Return all mechanisms of a peer, from simple to complex."""
    symbol, bits = _bytes_of(size), (size + 7) // 8
    found = {
        "DE" if library == "pure-ldp" else "GRR": (_direct(size, epsilon), symbol),
        "SUE": (_unary(size, epsilon, best=False), bits),
        "OUE": (_unary(size, epsilon, best=True), bits),
        "BLH": (_local_hashing(size, epsilon, 2), _SEED_BYTES + 1),
        "OLH": (_local_hashing(size, epsilon, round(math.exp(epsilon)) + 1), _SEED_BYTES + 1),
        "SHE": (size * 8 / epsilon**2, 8 * size),
        "THE": (_thresholded(size, epsilon), 8 * size),
    }
    if library == "pure-ldp":
        found["HM"] = (_hadamard_mechanism(size, epsilon), 9)
        found["HR"] = (_hadamard_response(size, epsilon), _bytes_of(4 * size))
    else:
        found["SS"] = _subset_selection(size, epsilon)
    optimum = least(size, epsilon)
    leaky = "SS" if _subset_size(size, epsilon) > 1 else None
    return [Offer(name, risk / optimum, width, name != leaky) for name, (risk, width) in found.items()]


def least(size: int, epsilon: float) -> float:
    """Return the risk of the optimum."""
    return SubsetSelection.calibrate(size, epsilon).risk


def _bytes_of(symbols: int) -> int:
    return ((symbols - 1).bit_length() + 7) // 8


def _pure(size: int, p: float, q: float) -> float:
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)


def _direct(size: int, epsilon: float) -> float:
    odds = math.exp(epsilon)
    return _pure(size, odds / (odds + size - 1), 1 / (odds + size - 1))


def _unary(size: int, epsilon: float, best: bool) -> float:
    if best:
        return _pure(size, 0.5, 1 / (math.exp(epsilon) + 1))
    p = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
    return _pure(size, p, 1 - p)


def _local_hashing(size: int, epsilon: float, symbols: int) -> float:
    odds = math.exp(epsilon)
    return _pure(size, odds / (odds + symbols - 1), 1 / symbols)


def _thresholded(size: int, epsilon: float) -> float:
    """Return the least over thresholds from 1/2 to 1, in steps of 1/1000."""
    thresholds = (0.5 + step / 2000 for step in range(1001))
    laws = ((1 - math.exp(epsilon * (at - 1) / 2) / 2, math.exp(-epsilon * at / 2) / 2) for at in thresholds)
    return min(_pure(size, p, q) for p, q in laws)


def _subset_size(size: int, epsilon: float) -> int:
    return max(1, round(size / (math.exp(epsilon) + 1)))


def _subset_selection(size: int, epsilon: float) -> tuple[float, int]:
    odds, d = math.exp(epsilon), _subset_size(size, epsilon)
    p = d * odds / (d * odds + size - d)
    q = (p * (d - 1) + (1 - p) * d) / (size - 1)
    return _pure(size, p, q), min((size + 7) // 8, d * _bytes_of(size))


def _hadamard_mechanism(size: int, epsilon: float) -> float:
    """Return the least over its number t of sampled coefficients, whose signs go through 2^t-ary randomized response.

    One sign is right on average by g = (e^ε - 1)/(e^ε + 2^t - 1), and so is the product of two.
    """
    odds = math.exp(epsilon)

    def risk(samples: int) -> float:
        gap = (odds - 1) / (odds + (1 << samples) - 1)
        other = 1 / (samples * gap**2)
        own = other * (1 + (samples - 1) * gap) - 1
        return size * other + own - other

    return min(map(risk, range(1, 11)))


def _hadamard_response(size: int, epsilon: float) -> float:
    """Return half rows of one matrix up to ε = 1; beyond, of B blocks, at the uniform histogram (Acharya et al. 2019).

    With D = e^ε + 2B - 1 a value's own users add D(e^ε+1)/(e^ε-1)² - 1 to its variance, those of other values of its
    block D(e^ε+1)/(e^ε-1)², and those of other blocks 2D/(e^ε-1)².
    """
    odds = math.exp(epsilon)
    if epsilon <= 1:
        return _pure(size, odds / (odds + 1), 0.5)
    blocks = 1 << int(math.log2(min(2 * size, odds)))
    width = (1 << math.ceil(math.log2(size / blocks + 1))) - 1
    weight = (odds + 2 * blocks - 1) / (odds - 1) ** 2
    filled = [min(width, size - start) for start in range(0, size, width)]
    near = sum(values * (values - 1) for values in filled) / size
    return weight * (odds + 1) * (1 + near) - 1 + 2 * weight * (size - 1 - near)
