"""The mechanisms, one file per family, each with its randomizer and exact law; ``MECHANISMS`` is the one list of them.

No estimator is here: the server decodes by the fields that every mechanism has.
"""

from ..mechanism import Mechanism
from .bit_flip import BitFlip
from .count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from .discrete_gaussian import DiscreteGaussian
from .discrete_laplace import DiscreteLaplace
from .dithered_response import DitheredResponse
from .exponential import Exponential
from .hadamard_response import HadamardResponse
from .local_hashing import LocalHashing
from .optimized_unary import OptimizedUnary
from .projective_geometry import ProjectiveGeometry
from .randomized_response import RandomizedResponse
from .rappor import Rappor
from .subset_selection import SubsetSelection
from .symmetric_unary import SymmetricUnary

__all__ = [
    "MECHANISMS",
    "BitFlip",
    "CountMeanSketch",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DitheredResponse",
    "Exponential",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "LocalHashing",
    "OptimizedUnary",
    "ProjectiveGeometry",
    "RandomizedResponse",
    "Rappor",
    "SubsetSelection",
    "SymmetricUnary",
]

_FAMILIES: tuple[type[Mechanism], ...] = (
    RandomizedResponse,
    SubsetSelection,
    ProjectiveGeometry,
    HadamardResponse,
    LocalHashing,
    OptimizedUnary,
    SymmetricUnary,
    BitFlip,
    Rappor,
    CountMeanSketch,
    HadamardCountMeanSketch,
    DitheredResponse,
    DiscreteLaplace,
    Exponential,
    DiscreteGaussian,
)

MECHANISMS: dict[str, type[Mechanism]] = {family.name: family for family in _FAMILIES}
"""Every mechanism, by the name under which a metric asks for it: those of listed answers from simple to complex, those
of strings, and those of numbers."""
