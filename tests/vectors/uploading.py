"""Vectors of uploads: the fate of a report after each answer, and the window of its next try."""

from collections.abc import Iterator

from dither.upload.schedule import BUSY, NETWORK, REFUSED, hold_of, rule_for
from dither.upload.transport import seconds_of

from .rendering import Case, File

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


def _cases() -> Iterator[Case]:
    yield from _verdicts()
    yield from _holds()
    yield from _windows()


VERDICTS = File(
    "Uploads: what an answer says of a report; how long a Retry-After holds it; over how long its next try is spread. "
    "A case has the fields of one of these. All spans are seconds.",
    {
        "status": "the status of the answer",
        "fate": "sent or dropped; null if the report is kept, and tried again",
        "only_its_own": "whether the answer says nothing of reports of other metrics",
        "retry_after": "the header Retry-After; null if there is none",
        "hold": "for how long the report leaves not even in haste",
        "base": "over how long the first new try is spread",
        "cap": "over how long the next try is spread at most",
        "failures": "how often the report failed before this one",
        "window": "over how long its next try is spread after so many",
    },
    _cases,
)
