"""What both ends of dither must agree on; standard library only."""

from .domain import Domain
from .entropy import Entropy, KeyedEntropy, SystemEntropy
from .errors import DitherError, ParameterError, WireError
from .mechanism import Mechanism, Shape
from .mechanisms import MECHANISMS, RandomizedResponse, Rappor, SymmetricUnary
from .metric import Metric, load_metrics, parse_metrics
from .wire import Batch, Report

__all__ = [
    "MECHANISMS",
    "Batch",
    "DitherError",
    "Domain",
    "Entropy",
    "KeyedEntropy",
    "Mechanism",
    "Metric",
    "ParameterError",
    "RandomizedResponse",
    "Rappor",
    "Report",
    "Shape",
    "SymmetricUnary",
    "SystemEntropy",
    "WireError",
    "load_metrics",
    "parse_metrics",
]
