"""Replacements for parts of the standard library whose imports would take most of a program's start.

``typing`` takes 6 ms, and ``threading``, ``functools``, ``contextlib`` and ``datetime`` together 5 ms; the interpreter
has the needed parts built in, and if it does not, the modules themselves are used. ``cached_property`` has no lock:
Python 3.11 holds one while a property is computed, and a process forked by another thread at that moment would wait for
it for ever.

Type checkers see the original names. Annotations are never evaluated (``from __future__ import annotations``).
"""

from __future__ import annotations

import _thread
import os
import sys

_STANDARD_ERROR = 2


def is_of_signal_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the host has raised an exception, such as a timeout.

    It may come at any step, and looks like a failure of that step; but it is not ours to swallow.
    """
    try:
        if "signal" not in sys.modules:  # nobody has set a handler
            return False
        signal, trace = sys.modules["_signal"], error.__traceback__  # ``signal`` itself makes slow enumerations
        handlers = [one for one in map(signal.getsignal, signal.valid_signals()) if callable(one)]
        codes = [getattr(one, "__code__", None) for one in (*handlers, *(type(one).__call__ for one in handlers))]
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                return True
            trace = trace.tb_next
    except Exception:  # noqa: S110 - the interpreter shuts down
        pass
    return False


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import OrderedDict as OrderedDict  # noqa: PLC0414 - it is handed on
    from collections import deque as deque  # noqa: PLC0414 - it is handed on
    from collections.abc import Mapping as Mapping  # noqa: PLC0414 - it is handed on
    from contextlib import contextmanager as contextmanager  # noqa: PLC0414 - it is handed on
    from contextlib import suppress as suppress  # noqa: PLC0414 - it is handed on
    from functools import cached_property as cached_property  # noqa: PLC0414 - it is handed on
    from functools import lru_cache as lru_cache  # noqa: PLC0414 - it is handed on
    from functools import partial as partial  # noqa: PLC0414 - it is handed on
    from threading import Lock, RLock
    from types import MappingProxyType as MappingProxyType  # noqa: PLC0414 - it is handed on
    from typing import Literal as Literal  # noqa: PLC0414 - it is handed on
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - it is handed on
    from typing import Protocol as Protocol  # noqa: PLC0414 - it is handed on
    from typing import TypeVar as TypeVar  # noqa: PLC0414 - it is handed on
    from typing import cast as cast  # noqa: PLC0414 - it is handed on
    from weakref import WeakSet as WeakSet  # noqa: PLC0414 - it is handed on
    from weakref import ref as ref  # noqa: PLC0414 - it is handed on
else:
    try:
        from _collections import _tuplegetter as field_at  # as collections.namedtuple has it
    except ImportError:
        from operator import itemgetter

        def field_at(place, _):
            """Return a property that reads one field."""
            return property(itemgetter(place))

    try:
        from _collections import OrderedDict, deque
        from _collections_abc import Mapping
        from _functools import _lru_cache_wrapper, partial
        from _weakref import ref

        def lru_cache(maxsize, typed=False):
            """Return a decorator that keeps the last ``maxsize`` results of a function."""
            return lambda function: _lru_cache_wrapper(function, maxsize, typed, lambda *info: info)
    except ImportError:
        from collections import OrderedDict, deque  # noqa: F401 - likewise
        from collections.abc import Mapping  # noqa: F401 - likewise
        from functools import lru_cache, partial  # noqa: F401 - likewise
        from weakref import ref

    class WeakSet:
        """A set of weak references: objects stay in it as long as something else holds them."""

        def __init__(self):
            self._refs = {}

        def add(self, one):
            """Add an object."""
            self._refs[ref(one, self._forget)] = None

        def discard(self, one):
            """Remove an object, if it is there."""
            self._forget(ref(one))

        def _forget(self, reference):
            self._refs.pop(reference, None)

        def __iter__(self):
            return iter([one for reference in list(self._refs) if (one := reference()) is not None])

        def __len__(self):
            return len(self._refs)

    MappingProxyType = type(type.__dict__)

    class suppress:  # noqa: N801 - as it is called
        """Suppresses exceptions of some classes, but none that a signal handler of the host has raised."""

        __slots__ = ("_kinds",)
        _spared = staticmethod(is_of_signal_handler)  # kept here: at shutdown the names of this module may be None

        def __init__(self, *kinds):
            self._kinds = kinds

        def __enter__(self):
            pass

        def __exit__(self, kind, error, _):
            return kind is not None and issubclass(kind, self._kinds) and not self._spared(error)

    class _Entered:
        """A context manager made from a generator that yields once."""

        __slots__ = ("_steps",)

        def __init__(self, steps):
            self._steps = steps

        def __enter__(self):
            return next(self._steps)

        def __exit__(self, kind, error, trace):
            if kind is None:
                return next(self._steps, False)
            try:
                self._steps.throw(error)
            except StopIteration as end:
                return end is not error
            except BaseException as raised:
                if raised is not error:
                    raise
                error.__traceback__ = trace
            return False

    def contextmanager(steps):
        """Return a function that makes context managers from a generator function that yields once."""

        def enter(*given, **named):
            return _Entered(steps(*given, **named))

        enter.__doc__ = steps.__doc__
        return enter

    class Literal:
        """Makes aliases whose values ``typing.get_args`` returns."""

        def __class_getitem__(cls, values):
            return type(list[int])(cls, values)

    class cached_property:  # noqa: N801 - as it is called
        """A property that is computed once for each object (by two threads at once, perhaps twice)."""

        def __init__(self, compute):
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, _, name):
            self._name = name

        def __get__(self, one, _=None):
            if one is None:
                return self
            value = one.__dict__[self._name] = self._compute(one)
            return value

    class Protocol:
        """An empty base class."""

        __slots__ = ()

    def cast(_, value):
        """Return the value."""
        return value

    def TypeVar(name, **_):  # noqa: N802 - as it is called
        """Return the name."""
        return name

    class _Fields(type):
        """Adds the fields of a named tuple to a class with annotations; values given there are their defaults."""

        def __new__(meta, name, bases, own):
            fields = tuple(own.get("__annotations__", ()))
            if fields:
                defaults = {field: own[field] for field in fields if field in own}
                own |= {field: field_at(place, None) for place, field in enumerate(fields)}
                own |= {"_fields": fields, "_count": len(fields), "_defaults": defaults}
            return super().__new__(meta, name, bases, {"__slots__": ()} | own)

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple with named fields, like ``typing.NamedTuple``."""

        def __new__(cls, *given, **named):  # noqa: D102 - as its fields are
            if named or len(given) != cls._count:
                given = cls._filled(given, named)
            return tuple.__new__(cls, given)

        @classmethod
        def _filled(cls, given, named):
            values = dict(zip(cls._fields, given, strict=False))
            if len(given) > cls._count or values.keys() & named.keys() or named.keys() - set(cls._fields):
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}, each once")
            values = cls._defaults | values | named
            if len(values) < cls._count:
                raise TypeError(f"{cls.__name__} needs {', '.join(cls._fields)}")
            return [values[field] for field in cls._fields]

        def _replace(self, **named):
            return type(self)(**(self._asdict() | named))

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            return (
                f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in self._asdict().items())})"
            )


def above_standard(descriptor: int) -> int:
    """Return a descriptor of the same file, and not 0, 1 or 2, to which a program prints even if it has closed them."""
    low = []
    try:
        while descriptor <= _STANDARD_ERROR:
            low.append(descriptor)
            descriptor = os.dup(descriptor)
    finally:
        for each in low:
            os.close(each)
    return descriptor


def new_lock() -> Lock:
    """Return the lock that ``threading`` makes, or the interpreter's if ``threading`` is not loaded."""
    threading = sys.modules.get("threading")
    return threading.Lock() if threading else _thread.allocate_lock()


def new_rlock() -> RLock:
    """Return a reentrant lock of the same kind."""
    threading = sys.modules.get("threading")
    return threading.RLock() if threading else _thread.RLock()
