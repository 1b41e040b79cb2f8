"""The mechanisms, one file per family, each with its randomizer and exact law; ``MECHANISMS`` is the one list of them.

No estimator is here: the server decodes by the fields that every mechanism has. A family is imported when it is first
used: an app pays for the mechanisms of its own questions.
"""

from typing import TYPE_CHECKING

from ..mechanism import LISTED, NUMBERS, SETS, SPELLED, STRINGS, Mechanism
from .registry import Registry

if TYPE_CHECKING:
    from .bit_flip import BitFlip
    from .count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
    from .discrete_gaussian import DiscreteGaussian
    from .discrete_laplace import DiscreteLaplace
    from .dithered_response import DitheredResponse
    from .exponential import Exponential
    from .hadamard_response import HadamardResponse
    from .local_hashing import LocalHashing
    from .optimized_unary import OptimizedUnary
    from .prefix_sketch import PrefixSketch
    from .privset import PrivSet
    from .projective_geometry import ProjectiveGeometry
    from .projective_sketch import ProjectiveSketch
    from .randomized_response import RandomizedResponse
    from .rappor import Rappor
    from .set_response import SetResponse
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
    "PrefixSketch",
    "PrivSet",
    "ProjectiveGeometry",
    "ProjectiveSketch",
    "RandomizedResponse",
    "Rappor",
    "SetResponse",
    "SubsetSelection",
    "SymmetricUnary",
]

MECHANISMS = Registry({
    LISTED: {
        "randomized-response": "randomized_response.RandomizedResponse",
        "subset-selection": "subset_selection.SubsetSelection",
        "projective-geometry": "projective_geometry.ProjectiveGeometry",
        "hadamard-response": "hadamard_response.HadamardResponse",
        "local-hashing": "local_hashing.LocalHashing",
        "optimized-unary": "optimized_unary.OptimizedUnary",
        "symmetric-unary": "symmetric_unary.SymmetricUnary",
        "bit-flip": "bit_flip.BitFlip",
    },
    SETS: {
        "set-response": "set_response.SetResponse",
        "privset": "privset.PrivSet",
    },
    STRINGS: {
        "rappor": "rappor.Rappor",
        "count-mean-sketch": "count_mean_sketch.CountMeanSketch",
        "hadamard-count-mean-sketch": "count_mean_sketch.HadamardCountMeanSketch",
        "projective-count-mean-sketch": "projective_sketch.ProjectiveSketch",
    },
    SPELLED: {
        "prefix-sketch": "prefix_sketch.PrefixSketch",
    },
    NUMBERS: {
        "dithered-response": "dithered_response.DitheredResponse",
        "discrete-laplace": "discrete_laplace.DiscreteLaplace",
        "exponential": "exponential.Exponential",
        "discrete-gaussian": "discrete_gaussian.DiscreteGaussian",
    },
})  # fmt: skip
"""Every mechanism, by the name under which a metric asks for it; those of listed answers from simple to complex."""


def __getattr__(name: str) -> type[Mechanism]:
    if name.startswith("_"):
        raise AttributeError(name)
    family = globals()[name] = MECHANISMS.class_named(name)
    return family
