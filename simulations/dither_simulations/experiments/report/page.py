"""Write the report's page: one HTML file that loads nothing."""

import base64
import csv
import io
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version

import jinja2

from dither_shared.metrics.period import utc_today

from .running import Shown

__all__ = ["page"]

_PACKAGES = ("dither", "numpy", "scipy", "matplotlib", "click")


def page(shown: Sequence[Shown], seed: int, command: str) -> bytes:
    """Return the page, with pictures and data inside it."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dither_simulations", "experiments/report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"picture": _picture, "download": _download, "cell": _cell}
    versions = {"Python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
    made = environment.get_template("page.html").render(
        shown=shown,
        seed=seed,
        command=command,
        versions=versions,
        machine=f"{platform.system()} {platform.machine()}, {sys.byteorder}-endian",
        day=utc_today().isoformat(),
    )
    return made.encode("utf-8")


def _picture(one: Shown) -> str:
    """Return a picture as a data URL: inline, the names within one SVG would clash with those within another."""
    return f"data:image/svg+xml;base64,{base64.b64encode(one.picture).decode('ascii')}"


def _download(one: Shown) -> str:
    """Return the rows as CSV, as a URL that holds them."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(one.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(one.rows)
    return f"data:text/csv;base64,{base64.b64encode(text.getvalue().encode()).decode('ascii')}"


def _cell(value: object) -> str:
    """Return a value for people, with few digits; an empty text for None."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
