"""Settings of the documentation's site: ``make docs`` builds it into ``docs/_build``."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

project = "dither"
author = "The dither authors"
copyright = "The dither authors"  # noqa: A001 - Sphinx asks for this name
version = release = version_of("dither")

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

extensions = ["myst_parser", "dither_reference"]
exclude_patterns = ["_build", "**/tables"]
nitpicky = True

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings: list[str] = []

html_theme = "furo"
html_title = "dither"
html_copy_source = False
html_show_sourcelink = False
