"""Whether a block printed what its page says that it prints."""

import re

__all__ = ["missing_line"]

_PART = re.compile(r"(?P<anything>…)|(?P<number>[-+−]?\d[\d,.]*(?:e[-+]?\d+)?)|(?P<space>\s+)|(?P<text>[^…\d\s]+|.)")
_NUMBER = r"[-+−]?\d(?:[\d,.]*\d)?(?:e[-+]?\d+)?"


def missing_line(expected: str, printed: str) -> str:
    """Return the first line of ``expected`` that ``printed`` lacks, below those before it; "" if all are there.

    Any number stands for a number, any white space for white space, and … for anything; lines may come between.
    """
    lines = iter(printed.splitlines())
    for wanted in filter(str.strip, expected.splitlines()):
        pattern = re.compile(_pattern(wanted.strip()))
        if wanted.strip() != "…" and not any(pattern.fullmatch(line.strip()) for line in lines):
            return wanted.strip()
    return ""


def _pattern(line: str) -> str:
    patterns = {"anything": ".*", "number": _NUMBER, "space": r"\s*" if "…" in line else r"\s+"}
    found = (
        # A number at the end of a sentence keeps its full stop.
        patterns[part.lastgroup]
        + (re.escape(part[0][-1]) if part.lastgroup == "number" and part[0][-1] in ",." else "")
        if part.lastgroup in patterns
        else re.escape(part[0])
        for part in _PART.finditer(line)
    )
    return "".join(found)
