"""Trouble: what went wrong inside the host is counted, and logged once for each kind; it is never raised.

Only the kind and the type of an exception are logged, and what the system calls the error, if it is one of the system.
Its message is not: it may quote a value.
"""

import os
from collections import Counter

__all__ = ["Trouble"]


class Trouble:
    """Counts by kind of trouble."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, kind: str, advice: str = "") -> None:
        """Count one more of ``kind``; log the first, with ``advice``, at WARNING to the logger "dither"."""
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            self._log(kind, advice)

    def failed(self, place: str, error: Exception) -> None:
        """Count an exception that was caught at ``place``."""
        number = error.errno if isinstance(error, OSError) else None
        reason = f", {os.strerror(number)}" if isinstance(number, int) else ""
        self.note(f"{place} failed: {type(error).__name__}{reason}")

    def _log(self, kind: str, advice: str) -> None:
        try:
            import logging  # noqa: PLC0415 - a third of the import time, and mostly never needed

            logging.getLogger("dither").warning("%s%s", kind, f"; {advice}" if advice else "")
        except Exception:  # noqa: S110 - the host's handler failed, or it is shutdown: there is nobody left to tell
            pass
