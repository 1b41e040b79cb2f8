"""Raise the operating system's limit of open files to allow so many connections."""

import logging
import sys

__all__ = ["files_for"]

_log = logging.getLogger(__name__)

_OTHERS = 128
"""Files that are no connections: the database, its log and locks, one for each of some threads."""


def files_for(connections: int) -> int:
    """Raise the limit for so many connections; return how many are possible."""
    if sys.platform == "win32":  # it has no such limit
        return connections
    import resource  # noqa: PLC0415  # nor this module

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= connections + _OTHERS:
        return connections
    most = connections + _OTHERS if hard == resource.RLIM_INFINITY else min(hard, connections + _OTHERS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most - _OTHERS < connections:
        possible = max(1, most - _OTHERS)
        _log.warning("%d connections at a time, not %d: no more files may be open (ulimit -n)", possible, connections)
        return possible
    return connections
