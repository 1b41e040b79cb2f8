"""What both ends of dither must agree on; standard library only."""

from .domain import Domain
from .entropy import Entropy, KeyedEntropy, SystemEntropy
from .errors import DitherError, ParameterError, WireError
from .mechanism import Mechanism, Shape
from .mechanisms import (
    MECHANISMS,
    BitFlip,
    CountMeanSketch,
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
from .metric import Metric, load_metrics, parse_metrics
from .wire import Batch, Report

__all__ = [
    "MECHANISMS",
    "Batch",
    "BitFlip",
    "CountMeanSketch",
    "DitherError",
    "Domain",
    "Entropy",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "KeyedEntropy",
    "LocalHashing",
    "Mechanism",
    "Metric",
    "OptimizedUnary",
    "ParameterError",
    "ProjectiveGeometry",
    "RandomizedResponse",
    "Rappor",
    "Report",
    "Shape",
    "SubsetSelection",
    "SymmetricUnary",
    "SystemEntropy",
    "WireError",
    "load_metrics",
    "parse_metrics",
]
