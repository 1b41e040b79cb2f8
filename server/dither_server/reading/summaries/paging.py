"""Pages of many things: those that contain a text, a few at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class PageRequest(NamedTuple):
    """What a reader asks for: things that contain ``find``, and the ``page`` of them with ``size`` things per page."""

    find: str
    page: int
    size: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """The things ``shown`` on one ``page`` of ``pages``, of those that ``match``."""

    shown: Sequence[T]
    page: int
    pages: int
    match: int


def page_of(things: Sequence[T], text: Callable[[T], str], request: PageRequest) -> Page[T]:
    """Return the requested page of the things whose ``text`` contains what is to be found.

    A page beyond the last is the last.
    """
    found = [thing for thing in things if request.find.casefold() in text(thing).casefold()]
    pages = max(1, -(-len(found) // request.size))
    page = min(request.page, pages)
    return Page(found[(page - 1) * request.size : page * request.size], page, pages, len(found))
