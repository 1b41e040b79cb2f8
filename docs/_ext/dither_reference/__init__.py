"""An extension of Sphinx that writes reference pages from the programs themselves.

A line ``<!-- generated: NAME ARGUMENT -->`` of a page is replaced, before it is read, by what the function NAME of
``GENERATORS`` returns for its argument, as Markdown. The OpenAPI document is copied into the site.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .commands import click_commands, module_commands
from .docstrings import as_markup
from .http_api import document, http_api
from .settings import settings

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["GENERATORS", "generated", "setup"]

GENERATORS: Mapping[str, Callable[[str], str]] = {
    "commands": click_commands,
    "http-api": http_api,
    "module-commands": module_commands,
    "settings": settings,
}

_LINE = re.compile(r"^<!-- generated: (?P<name>[\w-]+) ?(?P<argument>[\w.-]*) -->$", re.MULTILINE)


def generated(page: str) -> str:
    """Return a page's text with what is generated in it."""
    return _LINE.sub(lambda found: GENERATORS[found["name"]](found["argument"]), page)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Add this to Sphinx."""
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("build-finished", _copy)
    app.connect("autodoc-process-docstring", _mark)
    return {"parallel_read_safe": True}


def _outdated(app: "Sphinx", *_: object) -> list[str]:
    """Return the pages in which something is generated: whether it changed, no file tells."""
    return [name for name in app.env.found_docs if _LINE.search(app.env.doc2path(name).read_text(encoding="utf-8"))]


def _read(_: "Sphinx", __: str, source: list[str]) -> None:
    source[0] = generated(source[0])


def _copy(app: "Sphinx", failure: Exception | None) -> None:
    if failure is None:
        Path(app.outdir, "openapi.json").write_text(json.dumps(document(), indent=1), encoding="utf-8")


def _mark(_: "Sphinx", __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    lines[:] = as_markup(lines)
