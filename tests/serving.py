"""Programs that serve, started by tests as processes of their own."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from forkserver import start

__all__ = ["serving"]

_ROOM = 1 << 20
"""Bytes that a pipe holds: a test reads the log at the end, and a program whose log finds no room hangs."""


@contextmanager
def serving(
    module: str, *options: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """``python -m MODULE run`` on a free port: the URL that it prints, and the process.

    It is killed at the end unless it has ended.
    """
    pipe = subprocess.PIPE
    with start(
        "-m", module, "run", "--port", "0", *options, stdout=pipe, stderr=pipe, pipesize=_ROOM, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()
