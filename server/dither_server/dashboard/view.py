"""What a reader of the pages asked to see: which days, a text to find, and which page of what is found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, Self, TypeVar

from werkzeug.datastructures import MultiDict

from dither_shared import ParameterError

from ..query import Query, count_of
from .tiers import TIERS

__all__ = ["View", "Window", "window"]

T = TypeVar("T")

_MOST = 500
"""Rows or metrics of a page, at most."""


@dataclass(frozen=True)
class View:
    """A page's own arguments, beside those of an estimate."""

    query: Query
    find: str = ""
    page: int = 1
    limit: int | None = None
    tier: str = ""

    @classmethod
    def read(cls, arguments: MultiDict[str, str]) -> Self:
        """Read a URL's arguments; what a form left empty was not given. Raises ParameterError."""
        rest = MultiDict((name, value) for name, value in arguments.items(multi=True) if value)
        find, page, limit, tier = (_single(rest.poplist(name), name) for name in ("find", "page", "limit", "tier"))
        page = page or "1"
        if not (page.isascii() and page.isdigit() and 0 < len(page) < 10 and int(page)):
            raise ParameterError("page", "not a whole number from 1")
        if tier and tier not in TIERS:
            raise ParameterError("tier", f"not one of {', '.join(TIERS)}")
        query = Query.read(rest)
        if not query.selection.everything:
            raise ParameterError("values", "nor top nor offset: not for pages; find=TEXT and page=2 are")
        return cls(query, find, int(page), _few(limit) if limit else None, tier)

    def arguments(self, **changed: object) -> dict[str, object]:
        """Return the arguments of a link to this view, or to one that differs in what is ``changed``."""
        page = self.page if self.page > 1 else None
        given: dict[str, object] = {"find": self.find, "page": page, "limit": self.limit, "tier": self.tier}
        for one in fields(self.query):
            value = getattr(self.query, one.name)
            if value != one.default:
                given[one.name] = str(value).lower()  # true, as in JSON
        return {name: value for name, value in (given | changed).items() if value}


def _few(text: str) -> int:
    number = count_of(text, "limit")
    if number > _MOST:
        raise ParameterError("limit", f"above {_MOST}; go on with page=2")
    return number


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
