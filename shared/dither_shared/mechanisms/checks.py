"""Check parameters and items for all mechanisms."""

from fractions import Fraction

from ..errors import ParameterError
from ..mechanism import MAX_CELLS, Item
from ..primitives.probability import checked_epsilon


def checked_count(value: object, place: str, least: int, most: int) -> int:
    """Return ``value`` if it is an integer in [least, most]; raise ParameterError naming ``place`` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(place, f"{value!r} is not a whole number")
    if not least <= value <= most:
        raise ParameterError(place, f"{value} is out of range; it must lie between {least} and {most}")
    return value


def checked_size(size: object) -> int:
    """Return the size of a closed domain, at least 2."""
    if size is None:
        raise ParameterError("size", "this mechanism needs a list of answers; for open text use rappor")
    return checked_count(size, "size", 2, MAX_CELLS)


def index_of(item: Item, size: int) -> int:
    """Return ``item`` if it is an index of a domain of that size."""
    if not isinstance(item, int) or not 0 <= item < size:
        # the value itself must not appear in errors
        raise ParameterError("item", f"not an index of a domain of {size}")
    return item


def set_of(item: Item, size: int) -> int:
    """Return ``item`` if it is a set of indices of a domain of that size: bit j for index j."""
    if not isinstance(item, int) or item < 0 or item >> size:
        raise ParameterError("item", f"not a set of indices of a domain of {size}")
    return item


def bytes_of(item: Item) -> bytes:
    """Return ``item`` if it is a value of an open domain."""
    if not isinstance(item, bytes):
        raise ParameterError("item", "a value of an open domain is given as its UTF-8 bytes")
    return item


def checked_epsilons(epsilon: float, permanent_epsilon: float | None) -> tuple[Fraction, Fraction | None]:
    """Return both ε as exact rationals; the permanent one, if given, must exceed that of one report."""
    once = checked_epsilon(epsilon)
    if permanent_epsilon is None:
        return once, None
    forever = checked_epsilon(permanent_epsilon, "permanent_epsilon")
    if forever <= once:
        raise ParameterError(
            "permanent_epsilon",
            f"{float(forever):g} must exceed epsilon = {float(once):g}, because all reports together reveal more "
            f"than one",
        )
    return once, forever
