"""Forks: tell every living client of a process that it runs in a child now."""

import os
import weakref
from contextlib import suppress
from typing import Protocol

__all__ = ["watch", "watched"]


class Forked(Protocol):
    """An object that wants to know when it runs in a child process."""

    def after_fork(self) -> None:
        """Start again, in the child."""


_watched: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def watch(forked: Forked) -> None:
    """Call ``after_fork`` in every child process, as long as the object lives."""
    _watched.add(forked)


def watched() -> list[Forked]:
    """Return the watched objects that still live."""
    return list(_watched)


def _after_fork_in_child() -> None:
    for forked in watched():
        with suppress(Exception):  # the child is the host's, too
            forked.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
