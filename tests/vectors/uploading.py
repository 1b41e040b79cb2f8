"""Vectors of uploads: the fate of a report after each answer, and the window of its next try."""

from collections.abc import Iterator

from dither.upload.schedule import BUSY, NETWORK, REFUSED, hold_of, rule_for
from dither_shared.bounded_http import seconds_of

from .rendering import Case

_STATUSES = (*range(200, 209), 226, *range(300, 309), *range(400, 432), 440, 444, 451, 499, *range(500, 512), 520, 599)
"""All that a collector gives, all that HTTP has, and some that are nobody's."""

_WISHES = ("0", "1", "60", "900", "901", "1800", "21000", "21600", "21601", "999999999", "1" + 40 * "0")
_NONSENSE = ("", "-1", "-0", "+60", "1e99", "1.5", "0x10", "60 s", "NaN", "Infinity", "soon")


def _verdicts() -> Iterator[Case]:
    for status in _STATUSES:
        rule = rule_for(status)
        yield {
            "status": status,
            "fate": rule.fate,
            "base": round(rule.window.base),
            "cap": round(rule.window.cap),
            "only_its_own": rule.metric_only,
        }


def _holds() -> Iterator[Case]:
    for wish in (None, *_WISHES, *_NONSENSE):
        asked = seconds_of(wish)
        yield {"retry_after": wish, "hold": round(hold_of(asked))}


def _windows() -> Iterator[Case]:
    for window in (BUSY, REFUSED, NETWORK):
        for failures in (*range(8), 20, 21, 1000, 10**9):
            base, cap = round(window.base), round(window.cap)
            yield {"base": base, "cap": cap, "failures": failures, "window": round(window.after(failures))}


def cases() -> Iterator[Case]:
    yield from _verdicts()
    yield from _holds()
    yield from _windows()
