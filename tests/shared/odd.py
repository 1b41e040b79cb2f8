"""Objects that an app may record by mistake or malice: they raise, or lie about their type."""

import enum
from decimal import Decimal
from typing import NoReturn

import numpy as np


def fail(*_: object) -> NoReturn:
    raise RuntimeError("Very-Secret")


class Spiteful(str):
    __slots__ = ()
    __str__ = __repr__ = __format__ = __eq__ = __hash__ = __getitem__ = __len__ = fail
    encode = lower = strip = fail  # type: ignore[assignment]


class SpitefulInt(int):
    __str__ = __repr__ = __eq__ = __hash__ = __int__ = __index__ = __bool__ = bit_length = fail


class SpitefulFloat(float):
    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __bool__ = fail


class Meta(type):
    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = fail

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("Very-Secret")


class Liar(metaclass=Meta):
    """An object that claims to be a string, and fails at any other access."""

    def __getattribute__(self, name: str) -> object:
        if name == "__class__":
            return str
        raise RecursionError

    __bool__ = __str__ = __eq__ = __hash__ = __float__ = __index__ = fail


class Theme(enum.Enum):
    DARK = "dark"
    YES = True
    NEITHER = None
    LIST = (1, 2)


class Themed(str, enum.Enum):  # noqa: UP042 - str() of its members is not their text
    DARK = "dark"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Trap(enum.Enum):
    ONE = 1


type.__setattr__(Trap, "_value_", property(fail))


NO_ANSWERS: list[object] = [
    None, [], (), {}, b"dark", bytearray(b"true"), object(), type, ..., NotImplemented, 1j, Decimal(1), Theme.NEITHER,
    Theme.LIST, Liar(), Liar, Trap.ONE, np.array(True), np.array([1, 2]), np.datetime64("2026-11-20"), np.complex64(1),
    np.bytes_(b"true"), lambda: True,
]  # fmt: skip
TRUE: list[object] = [
    True, 1, 1.0, "true", "True", " TRUE\n", np.True_, np.int8(1), np.uint64(1), np.float64(1), np.float32(1),
    np.str_("true"), Theme.YES, Number.ONE, SpitefulInt(1), SpitefulFloat(1), Spiteful("true"),
]  # fmt: skip
FALSE: list[object] = [False, 0, 0.0, -0.0, "false", "FALSE", np.False_, np.int64(0), np.float16(0), SpitefulInt(0)]
NEITHER: list[object] = [
    2, -1, 0.5, "yes", "no", "", "1", "0", "t", "\ud800", float("nan"), float("inf"), 10**5000, np.float64("nan"),
    "x" * 10_000_000, Theme.DARK, Number.TWO, np.int8(2), SpitefulInt(2), Spiteful("x"), "tru\u0435",
]  # fmt: skip
