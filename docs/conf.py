"""Settings of the documentation's site: ``make docs`` builds it into ``docs/_build``."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

project = "dither"
author = "The dither authors"
copyright = "The dither authors"  # noqa: A001 - Sphinx asks for this name
version = release = version_of("dither")

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

extensions = ["myst_parser", "sphinx.ext.autodoc", "dither_reference"]
exclude_patterns = ["_build", "**/tables"]
nitpicky = True
# Their pages are on the web, which a build does not ask. Names without a module are imported by type checkers alone.
nitpick_ignore_regex = [
    ("py:.*", r"(collections\.abc|contextlib|datetime|enum|fractions|pathlib|types|typing|dither_shared\.light)\..*"),
    ("py:class", r"date|datetime|Mode|PathLike"),
]
# What public classes hold, and nobody outside need know.
nitpick_ignore = [
    ("py:class", "dither_shared.mechanism.Items"),
    ("py:class", "dither_shared.primitives.channel.TwoLevel"),
    ("py:class", "dither_shared.questions.question.Answers"),
    ("py:class", "dither_shared.rows.RowFormat"),
    ("py:class", "dither_shared.seal_key.Suite"),
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 90
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
smartquotes = False  # of what a program prints, quotes stay as they are

html_theme = "furo"
html_title = "dither"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["published"]  # the example of a published site, as answers/
html_copy_source = False
html_show_sourcelink = False

_SHORT = 30
"""Letters of a name that fit on a line of a phone."""


def setup(app: Sphinx) -> None:
    """Mark short names, so that none of them breaks at a hyphen."""
    app.connect("doctree-read", _mark_short)


def _mark_short(_: Sphinx, page: nodes.document) -> None:
    for name in page.findall(nodes.literal):
        if len(name.astext()) <= _SHORT:
            name["classes"].append("short")
