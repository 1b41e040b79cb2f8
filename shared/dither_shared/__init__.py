"""What client and collector must agree on: mechanisms, metrics, exact privacy arithmetic, the wire format.

Standard library only. Nothing here keeps state or reads a tally, and only ``bounded_http`` talks to a network.
Mechanisms are imported when they are first used.
"""

from typing import TYPE_CHECKING

from .errors import DitherError, ParameterError, WireError
from .mechanism import Mechanism, Shape
from .mechanisms import MECHANISMS
from .metrics.definition import load_metrics, parse_metrics
from .metrics.metric import Metric
from .metrics.strata import Strata
from .primitives.entropy import Entropy, KeyedEntropy, SystemEntropy
from .questions import (
    QUESTIONS,
    BooleanQuestion,
    ChoiceQuestion,
    CrossQuestion,
    DiscoveryQuestion,
    NumberQuestion,
    Question,
    SelectionQuestion,
    StringQuestion,
)
from .questions.domains.domain import Domain
from .wire import Batch, Report

if TYPE_CHECKING:
    from .mechanisms import (
        BitFlip,
        CountMeanSketch,
        DiscreteGaussian,
        DiscreteLaplace,
        DitheredResponse,
        Exponential,
        HadamardCountMeanSketch,
        HadamardResponse,
        LocalHashing,
        OptimizedUnary,
        PrefixSketch,
        PrivSet,
        ProjectiveGeometry,
        ProjectiveSketch,
        RandomizedResponse,
        Rappor,
        SetResponse,
        SubsetSelection,
        SymmetricUnary,
    )

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


def __getattr__(name: str) -> type[Mechanism]:
    """Import a family of mechanisms when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    family = globals()[name] = MECHANISMS.class_named(name)
    return family
