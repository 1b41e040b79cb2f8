"""What a reader of the pages asked to see: which days, a text to find, and which page of what is found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, Self, TypeVar

from werkzeug.datastructures import MultiDict

from dither_shared import ParameterError

from ..query import Query

__all__ = ["View", "Window", "window"]

T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """A page's own arguments, beside those of an estimate."""

    query: Query
    find: str = ""
    page: int = 1

    @classmethod
    def read(cls, arguments: MultiDict[str, str]) -> Self:
        """Read a URL's arguments; what a form left empty was not given. Raises ParameterError."""
        rest = MultiDict((name, value) for name, value in arguments.items(multi=True) if value)
        find, page = (_single(rest.poplist(name), name) for name in ("find", "page"))
        page = page or "1"
        if not (page.isascii() and page.isdigit() and 0 < len(page) < 10 and int(page)):
            raise ParameterError("page", "not a whole number from 1")
        return cls(Query.read(rest), find, int(page))

    def arguments(self, **changed: object) -> dict[str, object]:
        """Return the arguments of a link to this view, or to one that differs in what is ``changed``."""
        given: dict[str, object] = {"find": self.find, "page": self.page if self.page > 1 else None}
        for one in fields(self.query):
            value = getattr(self.query, one.name)
            given[one.name] = None if value == one.default else str(value).lower()  # true, as in JSON
        return {name: value for name, value in (given | changed).items() if value}


def _single(values: list[str], name: str) -> str:
    if len(values) > 1:
        raise ParameterError(name, "given twice")
    return "".join(values)


@dataclass(frozen=True)
class Window(Generic[T]):
    """Those of many things that are shown: the ``page`` of so many ``pages`` of those that ``match``."""

    shown: Sequence[T]
    page: int
    pages: int
    match: int


def window(things: Sequence[T], text: Callable[[T], str], view: View, size: int) -> Window[T]:
    """Return the page of ``size`` things that is asked for, of those whose ``text`` holds what is to be found.

    A page beyond the last is the last.
    """
    found = [thing for thing in things if view.find.casefold() in text(thing).casefold()]
    pages = max(1, -(-len(found) // size))
    page = min(view.page, pages)
    return Window(found[(page - 1) * size : page * size], page, pages, len(found))
