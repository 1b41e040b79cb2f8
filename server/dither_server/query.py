"""What may be asked of an estimate, read strictly: by the routes and by the command line."""

from dataclasses import dataclass
from datetime import date
from typing import Self

from werkzeug.datastructures import MultiDict

from dither_shared import ParameterError

from .exports import FORMATS

__all__ = ["Query", "confidence_of", "day_of", "share_of"]


@dataclass(frozen=True, kw_only=True)
class Query:
    """The parameters of an estimate: UTC days, both included, a confidence, another version, a format.

    ``simultaneous`` asks for intervals that hold all together; ``forged`` is the share of reports assumed forged.
    """

    since: date | None = None
    until: date | None = None
    confidence: float = 0.95
    simultaneous: bool = False
    forged: float = 0.01
    version: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if self.since and self.until and self.since > self.until:
            raise ParameterError("since", "later than until")
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError("format", f"unknown; one of {', '.join(FORMATS)}")

    @classmethod
    def read(cls, arguments: MultiDict[str, str]) -> Self:
        """Read a URL's arguments. Raises ParameterError, whose place is the argument's name."""
        given: dict[str, str] = {}
        for name, values in arguments.lists():
            if name not in cls.__dataclass_fields__:
                raise ParameterError(_shown(name), f"unknown; known here: {', '.join(cls.__dataclass_fields__)}")
            if len(values) > 1:
                raise ParameterError(name, "given twice")
            given[name] = values[0]
        return cls(
            since=day_of(given["since"], "since") if "since" in given else None,
            until=day_of(given["until"], "until") if "until" in given else None,
            confidence=confidence_of(given["confidence"]) if "confidence" in given else 0.95,
            simultaneous=_truth_of(given.get("simultaneous", "false"), "simultaneous"),
            forged=share_of(given["forged"], "forged") if "forged" in given else 0.01,
            version=given.get("version"),
            format=given.get("format"),
        )


def day_of(text: str, place: str) -> date:
    """Return the date that ``text`` writes as 2026-11-20; raise ParameterError at ``place`` otherwise."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise ParameterError(place, "not a date; write it as 2026-11-20")
    return day


def confidence_of(text: str) -> float:
    """Return a confidence strictly between 0 and 1; raise ParameterError otherwise."""
    return share_of(text, "confidence", "0.95")


def share_of(text: str, place: str, example: str = "0.01") -> float:
    """Return a number strictly between 0 and 1; raise ParameterError at ``place`` otherwise."""
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:  # NaN compares false
        raise ParameterError(place, f"not a number strictly between 0 and 1, such as {example}")
    return share


def _truth_of(text: str, place: str) -> bool:
    if text not in {"true", "false"}:
        raise ParameterError(place, "neither true nor false")
    return text == "true"


def _shown(name: str) -> str:
    """Return the name of an unknown argument so that it can be shown: short, and plain ASCII."""
    return ascii(name[:32])
