"""The replacements for standard library modules on a device behave like the originals."""

import contextlib
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from dither_shared import light


class _Odd(Exception):  # noqa: N818 - one of this test
    pass


def _swallows(seen: list[str]) -> Iterator[str]:
    try:
        yield "inside"
    except _Odd:
        seen.append("odd")
    finally:
        seen.append("end")


def _replaces(seen: list[str]) -> Iterator[str]:
    try:
        yield "inside"
    except _Odd as error:
        raise LookupError from error
    finally:
        seen.append("end")


Made = Callable[[list[str]], AbstractContextManager[str]]


def _outcome(make: Made, error: BaseException | None) -> tuple[object, ...]:
    seen: list[str] = []
    came: BaseException | None = None
    try:
        with make(seen) as value:
            seen.append(value)
            if error is not None:
                raise error
    except BaseException as raised:
        came = raised
    return seen, type(came), came is error, type(came.__cause__) if came else None


@pytest.mark.parametrize("steps", [_swallows, _replaces])
def test_light_context_manager_behaves_like_contextlibs(steps: Callable[[list[str]], Iterator[str]]) -> None:
    for error in (None, _Odd(), KeyError(), KeyboardInterrupt(), StopIteration()):
        ours, theirs = _outcome(light.contextmanager(steps), error), _outcome(contextlib.contextmanager(steps), error)
        if isinstance(error, StopIteration):  # a generator raises RuntimeError instead, which contextlib converts back
            ours, theirs = ours[:1], theirs[:1]
        assert ours == theirs, repr(error)


def test_light_suppress_suppresses_only_the_given_classes() -> None:
    with light.suppress(LookupError, OSError):
        raise KeyError
    with light.suppress(LookupError):
        pass
    with pytest.raises(ValueError, match="other"), light.suppress(LookupError):
        raise ValueError("other")


def test_weak_set_keeps_only_referenced_objects() -> None:
    for kind in (light.WeakSet, weakref.WeakSet):
        held, dropped, removed = _Odd(), _Odd(), _Odd()
        objects: weakref.WeakSet[_Odd] = kind()
        assert not objects
        for member in (held, dropped, removed, held):
            objects.add(member)
        objects.discard(removed)
        objects.discard(_Odd())
        del member, dropped
        gc.collect()
        assert list(objects) == [held]
        assert len(objects) == 1


def test_light_locks_are_those_of_threading_once_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    other = threading.RLock()
    monkeypatch.setattr(threading, "RLock", lambda: other)  # as gevent replaces it
    assert light.new_rlock() is other
    monkeypatch.delitem(sys.modules, "threading")
    for lock in (light.new_lock(), light.new_rlock()):
        with lock:
            pass
