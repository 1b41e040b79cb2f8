"""Forks: notify every living client after a fork, and fork only while no thread imports.

A child has only the thread that forked. If another thread was importing a module, nothing in the child ends that
import, and importing the same module there waits for ever. So dither does all late imports inside ``importing``, and a
fork waits until they end, though not for long: a host that forks while it imports must not wait for a thread that waits
for its import.
"""

from __future__ import annotations

import os
from _thread import get_ident

from dither_shared.light import Protocol, WeakSet, contextmanager, new_rlock, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 1.0
"""Seconds that a fork waits for an import, and an import for another import or for a fork."""


class _Forked(Protocol):
    """An object that must be notified when it runs in a child process."""

    def after_fork(self) -> None:
        """Start again, in the child."""


class _Imports:
    """The lock that is held by an import, and by a fork."""

    def __init__(self) -> None:
        self._lock = new_rlock()
        self._forking: set[int] = set()  # threads that hold it to fork

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Enter to import; after a while even without the lock, because at exit a frozen thread may hold it."""
        lock = self._lock
        held = lock.acquire(timeout=_PATIENCE)
        try:
            yield
        finally:
            if held:
                lock.release()

    def before_fork(self) -> None:
        """Wait until no thread imports."""
        if self._lock.acquire(timeout=_PATIENCE):
            self._forking.add(get_ident())

    def after_in_parent(self) -> None:
        """Let other threads import again."""
        thread = get_ident()
        if thread in self._forking:
            self._forking.remove(thread)
            self._lock.release()

    def after_in_child(self) -> None:
        """Start with a free lock."""
        self._lock, self._forking = new_rlock(), set()


_imports = _Imports()
importing = _imports.importing

_watched: WeakSet[_Forked] = WeakSet()


def watch(forked: _Forked) -> None:
    """Call ``after_fork`` in every child process, as long as the object lives."""
    _watched.add(forked)


def watched() -> list[_Forked]:
    """Return the watched objects that are still alive."""
    return list(_watched)


def _after_fork_in_child() -> None:
    _imports.after_in_child()
    for forked in watched():
        with suppress(Exception):  # the child belongs to the host, too
            forked.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(
        before=_imports.before_fork,
        after_in_parent=_imports.after_in_parent,
        after_in_child=_after_fork_in_child,
    )
