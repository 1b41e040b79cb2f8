"""Forks: one hook for all clients of a process, and none for a client that is gone."""

import os
import weakref
from contextlib import suppress
from typing import Protocol

__all__ = ["watch", "watched"]


class Forked(Protocol):
    """What wants to know that it is in a child process now."""

    def after_fork(self) -> None:
        """Start again, in the child."""


_watched: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def watch(forked: Forked) -> None:
    """Call ``after_fork`` in every child process, as long as the object lives."""
    _watched.add(forked)


def watched() -> list[Forked]:
    """Return what is watched and lives."""
    return list(_watched)


def _after_fork_in_child() -> None:
    for forked in watched():
        with suppress(Exception):  # the child is the host's, too
            forked.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
