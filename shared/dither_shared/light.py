"""What a device needs of ``typing`` while it runs, without the import of it, which takes 6 ms of a program's start.

And ``cached_property`` without the lock that Python 3.11 holds while one is computed: a process that was forked by
another thread at that moment would wait for it for ever.

Type checkers see the real thing. Annotations are never evaluated (``from __future__ import annotations``).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as cached_property  # noqa: PLC0414 - it is handed on
    from typing import Literal as Literal  # noqa: PLC0414 - it is handed on
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - it is handed on
    from typing import Protocol as Protocol  # noqa: PLC0414 - it is handed on
    from typing import TypeVar as TypeVar  # noqa: PLC0414 - it is handed on
    from typing import cast as cast  # noqa: PLC0414 - it is handed on
else:
    try:
        from _collections import _tuplegetter as field_at  # as collections.namedtuple has it
    except ImportError:
        from operator import itemgetter

        def field_at(place, _):
            """Return a property that reads one field."""
            return property(itemgetter(place))

    class Literal:
        """Makes aliases, of which ``typing.get_args`` returns the values."""

        def __class_getitem__(cls, values):
            return type(list[int])(cls, values)

    class cached_property:  # noqa: N801 - as it is called
        """A property that is computed once for each object; by two threads at once, maybe twice, to the same."""

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
        """A base that says nothing."""

        __slots__ = ()

    def cast(_, value):
        """Return the value."""
        return value

    def TypeVar(name, **_):  # noqa: N802 - as it is called
        """Return the name."""
        return name

    class _Fields(type):
        """Makes a tuple with named fields of a class that annotates them; their defaults are the values given there."""

        def __new__(meta, name, bases, own):
            fields = tuple(own.get("__annotations__", ()))
            if fields:
                defaults = {field: own[field] for field in fields if field in own}
                own |= {field: field_at(place, None) for place, field in enumerate(fields)}
                own |= {"_fields": fields, "_count": len(fields), "_defaults": defaults}
            return super().__new__(meta, name, bases, {"__slots__": ()} | own)

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple with named fields, as that of ``typing``."""

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
