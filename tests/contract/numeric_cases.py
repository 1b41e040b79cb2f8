"""Small mechanisms of every numeric family."""

from contract.cases import EPSILONS
from dither_shared.mechanisms.discrete_gaussian import DiscreteGaussian
from dither_shared.mechanisms.discrete_laplace import DiscreteLaplace
from dither_shared.mechanisms.dithered_response import DitheredResponse
from dither_shared.mechanisms.exponential import Exponential
from dither_shared.mechanisms.numeric import NumericMechanism

NUMERIC: dict[str, type[NumericMechanism]] = {
    family.name: family for family in (DitheredResponse, DiscreteLaplace, Exponential, DiscreteGaussian)
}


def small_numeric(name: str, epsilon: float) -> list[NumericMechanism]:
    """Return mechanisms of the family that are small enough to enumerate."""
    family = NUMERIC[name]
    if "steps" in family.keys:
        shapes = [{"steps": m, "resolution": d} for m, d in ((1, 1), (1, 4), (2, 1), (2, 3), (3, 4), (4, 2))]
        kept = [{"permanent_epsilon": 2 * epsilon, **shape} for shape in shapes[1:4]]
        return [family.configure(None, {"epsilon": epsilon, **shape}) for shape in shapes + kept]
    if "delta" in family.keys:
        wide = [{"delta": delta, "resolution": steps} for delta in (1e-3, 0.01) for steps in (1, 2, 3)]
        return [family.configure(None, {"epsilon": epsilon, **shape}) for shape in wide] if epsilon >= 1 else []
    return [family.configure(None, {"epsilon": epsilon, "resolution": steps}) for steps in (1, 2, 3, 8)]


def every_small_numeric() -> list[tuple[float, NumericMechanism]]:
    """Return (declared epsilon, mechanism) over all families."""
    return [
        (epsilon, mechanism) for name in NUMERIC for epsilon in EPSILONS for mechanism in small_numeric(name, epsilon)
    ]
