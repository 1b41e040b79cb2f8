"""Handle errors of writing to standard output.

A full disk is reported in one line, a closed pipe silently, and a character that the encoding lacks is escaped.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""Error numbers of a file that cannot grow."""

_GONE = frozenset({errno.EPIPE, errno.EINVAL} if sys.platform == "win32" else {errno.EPIPE})
"""Error numbers of a pipe whose reader is gone; on Windows that is EINVAL."""


@contextmanager
def written_whole(program: str) -> Iterator[None]:
    """Run what prints; end the process with status 1 if standard output did not take all of it.

    The reason is printed to standard error in one line, unless the reader has closed the pipe. An error that names a
    file, or is of another kind, propagates.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # when redirected to a file, Windows writes cp1252
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # None stays None if the process began without standard output
                sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in FULL | _GONE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try once more at exit
        if error.errno not in _GONE:
            print(f"{program}: standard output cannot be written ({error.strerror})", file=sys.stderr)
        raise SystemExit(1) from None
