"""Plotly's bundle, served from the installed package: the pages are whole without it."""

import gzip
import re
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

__all__ = ["Bundle", "bundle"]


class Bundle(NamedTuple):
    """Plotly's script: its version, its text, compressed, and ids of style elements that it would add if not there.

    The policy refuses such elements, and the browser complains of each; an empty element of the id leaves nothing to
    add. They style maps, of which there are none here.
    """

    version: str
    compressed: bytes
    styles: tuple[str, ...]


@lru_cache(maxsize=1)
def bundle() -> Bundle | None:
    """Return the bundle of the installed package, or None if there is none."""
    found = find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0], "package_data", "plotly.min.js")
    if not path.is_file():
        return None
    script = path.read_bytes()
    ids = re.findall(rb'getElementById\("([0-9a-f]{64})"\)', script)
    return Bundle(version("plotly"), gzip.compress(script, 6), tuple(sorted({one.decode() for one in ids})))
