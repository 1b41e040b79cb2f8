"""Show some of many things on a page: those that hold a text, so many at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Look(NamedTuple):
    """What a reader looks at: what holds the text ``find``, and the ``page`` of those of ``size`` things."""

    find: str
    page: int
    size: int


@dataclass(frozen=True)
class Window(Generic[T]):
    """Those of many things that are shown: the ``page`` of so many ``pages`` of those that ``match``."""

    shown: Sequence[T]
    page: int
    pages: int
    match: int


def window(things: Sequence[T], text: Callable[[T], str], look: Look) -> Window[T]:
    """Return the page of things that is looked at, of those whose ``text`` holds what is to be found.

    A page beyond the last is the last.
    """
    found = [thing for thing in things if look.find.casefold() in text(thing).casefold()]
    pages = max(1, -(-len(found) // look.size))
    page = min(look.page, pages)
    return Window(found[(page - 1) * look.size : page * look.size], page, pages, len(found))
