"""The field of answers that says up to when folds of a spool have counted."""

from datetime import datetime


def folded(up_to: datetime | None) -> dict[str, str]:
    """Return the member ``folded_up_to`` of an answer, such as 2026-11-20T14:05:59Z; nothing if no fold has finished.

    Read it before the counts: then it never promises more than they contain.
    """
    return {} if up_to is None else {"folded_up_to": up_to.isoformat().replace("+00:00", "Z")}
