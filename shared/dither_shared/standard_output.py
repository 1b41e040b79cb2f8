"""Standard output that cannot be written: a full disk is told in one line, and a reader that is gone needs no word."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["written_whole"]

_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EPIPE, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""What a file says that takes no more."""


@contextmanager
def written_whole(program: str) -> Iterator[None]:
    """Run what prints; end the process with 1 if standard output did not take all of it.

    On standard error stands why, in one line, unless whoever read has closed the pipe. An error that names a file, or
    is of another kind, passes.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # as it is where the process began without one
                sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try once more at its end
        if error.errno != errno.EPIPE:
            print(f"{program}: standard output cannot be written ({error.strerror})", file=sys.stderr)
        raise SystemExit(1) from None
