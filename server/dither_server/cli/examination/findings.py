"""Findings of an examination."""

from enum import Enum
from typing import NamedTuple


class Level(Enum):
    """The severity; its value is the exit status of a command that reports it."""

    OK = 0
    WARNING = 1
    PROBLEM = 2


class CheckResult(NamedTuple):
    """One finding: its subject, its text, and advice, "" if nothing is to be done."""

    level: Level
    about: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"{self.level.name.lower():7}  {self.about}: {self.text}{'. ' + self.advice if self.advice else ''}"


def ok(about: str, text: str) -> CheckResult:
    """Return a finding that nothing is wrong."""
    return CheckResult(Level.OK, about, text)


def warning(about: str, text: str, advice: str) -> CheckResult:
    """Return a finding that may become a problem, but does not stop the collector."""
    return CheckResult(Level.WARNING, about, text, advice)


def problem(about: str, text: str, advice: str) -> CheckResult:
    """Return a finding that loses reports, or stops the collector from working."""
    return CheckResult(Level.PROBLEM, about, text, advice)


def size(count: float) -> str:
    """Return a number of bytes with three digits and a unit, such as 12.3 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
