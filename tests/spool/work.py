"""What worker processes do in tests; they import this alone, and not Dask and pytest."""

import os
import signal

from dither_shared import ParameterError


def doubled(number: int) -> int:
    return 2 * number


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(_: int) -> None:
    raise ParameterError("here", "wrong")
