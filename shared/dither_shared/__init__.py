"""What client and collector must agree on: mechanisms, metrics, exact privacy arithmetic, the wire format.

Standard library only. Nothing here keeps state, talks to a network or reads a tally.
"""

from .errors import DitherError, ParameterError, WireError
from .mechanism import Mechanism, Shape
from .mechanisms import (
    MECHANISMS,
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
    ProjectiveGeometry,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
)
from .metrics.definition import load_metrics, parse_metrics
from .metrics.metric import Metric
from .primitives.entropy import Entropy, KeyedEntropy, SystemEntropy
from .questions import QUESTIONS, BooleanQuestion, ChoiceQuestion, NumberQuestion, Question, StringQuestion
from .questions.domain import Domain
from .wire import Batch, Report

__all__ = [
    "MECHANISMS",
    "QUESTIONS",
    "Batch",
    "BitFlip",
    "BooleanQuestion",
    "ChoiceQuestion",
    "CountMeanSketch",
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
    "ProjectiveGeometry",
    "Question",
    "RandomizedResponse",
    "Rappor",
    "Report",
    "Shape",
    "StringQuestion",
    "SubsetSelection",
    "SymmetricUnary",
    "SystemEntropy",
    "WireError",
    "load_metrics",
    "parse_metrics",
]
