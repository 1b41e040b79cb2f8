"""The mechanisms, one file per family; ``MECHANISMS`` is the one list of them."""

from ..mechanism import Mechanism
from .randomized_response import RandomizedResponse
from .rappor import Rappor
from .symmetric_unary import SymmetricUnary

__all__ = ["MECHANISMS", "RandomizedResponse", "Rappor", "SymmetricUnary"]

MECHANISMS: dict[str, type[Mechanism]] = {
    family.name: family for family in (RandomizedResponse, SymmetricUnary, Rappor)
}
"""Every mechanism by the name under which a metric asks for it."""
