"""The errors of dither.

DitherError
├── ParameterError    ours: a parameter, a definition or a configuration is invalid
└── WireError         the peer's: bytes that no honest peer sends
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_NAME = 64


class DitherError(Exception):
    """Base of every error that dither raises on purpose."""


class ParameterError(DitherError, ValueError):
    """An invalid parameter. Names the place, what is wrong there, and what would be right."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str]]:
        return type(self), (self.place, self.problem)  # so that the error can be unpickled from another process

    def within(self, outer: str) -> ParameterError:
        """Return the same error seen from outside, its place prefixed with ``outer``."""
        return ParameterError(f"{outer}{self.place}", self.problem)


class WireError(DitherError, ValueError):
    """Bytes from a peer that do not follow the wire format."""


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known name that is most similar to ``given``, or "" if none is similar."""
    if type(given) is not str or len(given) > _LONGEST_NAME:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only those who made a mistake pay for it

    return "".join(f"; did you mean {name!r}?" for name in get_close_matches(given, known, n=1))
