"""What client and collector must agree on: mechanisms, metrics, exact privacy arithmetic, the wire format.

Standard library only. Nothing here keeps state or reads a tally, and only ``bounded_http`` talks to a network.
The names below are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .errors import DitherError, ParameterError, WireError
    from .mechanism import Mechanism
    from .mechanisms import MECHANISMS
    from .mechanisms.bit_flip import BitFlip
    from .mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
    from .mechanisms.decaying import DiscreteLaplace, Exponential
    from .mechanisms.discrete_gaussian import DiscreteGaussian
    from .mechanisms.dithered_response import DitheredResponse
    from .mechanisms.hadamard_response import HadamardResponse
    from .mechanisms.local_hashing import LocalHashing
    from .mechanisms.prefix_sketch import PrefixSketch
    from .mechanisms.privset import PrivSet
    from .mechanisms.projective_geometry import ProjectiveGeometry
    from .mechanisms.projective_sketch import ProjectiveSketch
    from .mechanisms.randomized_response import RandomizedResponse
    from .mechanisms.rappor import Rappor
    from .mechanisms.set_response import SetResponse
    from .mechanisms.subset_selection import SubsetSelection
    from .mechanisms.unary import OptimizedUnary, SymmetricUnary
    from .metrics.definition import load_metrics, parse_metrics
    from .metrics.metric import Metric
    from .metrics.strata import Strata
    from .primitives.entropy import Entropy, KeyedEntropy, SystemEntropy
    from .questions import QUESTIONS
    from .questions.cross import CrossQuestion
    from .questions.discovery import DiscoveryQuestion
    from .questions.listed import BooleanQuestion, ChoiceQuestion, Domain
    from .questions.number import NumberQuestion
    from .questions.question import Question
    from .questions.selection import SelectionQuestion
    from .questions.string import StringQuestion
    from .rows import Shape
    from .wire import Batch, Report

__all__ = [
    "MECHANISMS",
    "QUESTIONS",
    "Batch",
    "BitFlip",
    "BooleanQuestion",
    "ChoiceQuestion",
    "CountMeanSketch",
    "CrossQuestion",
    "DiscoveryQuestion",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DitherError",
    "DitheredResponse",
    "Domain",
    "Entropy",
    "Exponential",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "KeyedEntropy",
    "LocalHashing",
    "Mechanism",
    "Metric",
    "NumberQuestion",
    "OptimizedUnary",
    "ParameterError",
    "PrefixSketch",
    "PrivSet",
    "ProjectiveGeometry",
    "ProjectiveSketch",
    "Question",
    "RandomizedResponse",
    "Rappor",
    "Report",
    "SelectionQuestion",
    "SetResponse",
    "Shape",
    "Strata",
    "StringQuestion",
    "SubsetSelection",
    "SymmetricUnary",
    "SystemEntropy",
    "WireError",
    "load_metrics",
    "parse_metrics",
]

_HOMES = {
    "CrossQuestion": "questions.cross",
    "DiscoveryQuestion": "questions.discovery",
    "MECHANISMS": "mechanisms",
    "Mechanism": "mechanism",
    "Metric": "metrics.metric",
    "NumberQuestion": "questions.number",
    "QUESTIONS": "questions",
    "Question": "questions.question",
    "SelectionQuestion": "questions.selection",
    "Shape": "rows",
    "Strata": "metrics.strata",
    "StringQuestion": "questions.string",
    **dict.fromkeys(("BooleanQuestion", "ChoiceQuestion", "Domain"), "questions.listed"),
    **dict.fromkeys(("Batch", "Report"), "wire"),
    **dict.fromkeys(("DitherError", "ParameterError", "WireError"), "errors"),
    **dict.fromkeys(("Entropy", "KeyedEntropy", "SystemEntropy"), "primitives.entropy"),
    **dict.fromkeys(("load_metrics", "parse_metrics"), "metrics.definition"),
}
"""The module of each name that is not a family of mechanisms."""


VERSION = "0.1.0"
"""The version of client, collector and laboratory."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        value = getattr(__import__(f"{__name__}.{_HOMES[name]}", fromlist=[name]), name)
    else:
        value = __import__(f"{__name__}.mechanisms", fromlist=["MECHANISMS"]).MECHANISMS.class_named(name)
    globals()[name] = value
    return value
