"""Forks: notify every living client after a fork, and fork only while no thread imports.

A child has only the thread that forked. If another thread was importing a module, nothing in the child ends that
import, and importing the same module there waits for ever. So dither does all late imports inside ``importing``, and a
fork waits until they end, though not for long: a host that forks while it imports must not wait for a thread that waits
for its import.
"""

from __future__ import annotations

import os
import time
from _thread import get_ident

from dither_shared.light import Protocol, WeakSet, contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE, _PAUSE = 1.0, 0.001
"""Maximum seconds for which a fork waits for an import, or an import for a fork; seconds between two looks."""


class _Forked(Protocol):
    """An object that must be notified when it runs in a child process."""

    def after_fork(self) -> None:
        """Start again, in the child."""


class _Import:
    """Token of an import; it counts as long as it lives."""

    __slots__ = ("__weakref__", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()


class _Imports:
    """The imports that are under way, and the threads that fork. A fork waits for imports, and they wait for it.

    There is no lock, which an exception of a signal handler might leave locked: each side first says what it begins,
    and then looks whether it must wait for the other.
    """

    def __init__(self) -> None:
        self._under_way: WeakSet[_Import] = WeakSet()
        self._forking: set[int] = set()

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Enter to import."""
        this = _Import()
        try:
            _wait(lambda: self._begins(this))
            yield
        finally:
            self._under_way.discard(this)

    def _begins(self, this: _Import) -> bool:
        """Begin an import unless another thread forks; return whether it has begun."""
        self._under_way.add(this)
        free = not self._forking - {this.thread}
        if not free:
            self._under_way.discard(this)
        return free

    def before_fork(self) -> None:
        """Wait until no other thread imports."""
        thread = get_ident()
        self._forking.add(thread)
        _wait(lambda: all(one.thread == thread for one in self._under_way))

    def after_in_parent(self) -> None:
        """Let other threads import again."""
        self._forking.discard(get_ident())

    def after_in_child(self) -> None:
        """Forget the other threads."""
        self._under_way, self._forking = WeakSet(), set()


def _wait(over: Callable[[], bool]) -> None:
    """Wait until ``over`` returns True, though not for long."""
    end = time.monotonic() + _PATIENCE
    while not over() and time.monotonic() < end:
        time.sleep(_PAUSE)


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
