"""Settings of the documentation's site: ``make docs`` builds it into ``docs/_build``."""

from importlib.metadata import version as version_of

project = "dither"
author = "The dither authors"
copyright = "The dither authors"  # noqa: A001 - Sphinx asks for this name
version = release = version_of("dither")

extensions = ["myst_parser"]
exclude_patterns = ["_build", "**/tables"]
nitpicky = True

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings: list[str] = []

html_theme = "furo"
html_title = "dither"
html_extra_path = ["published"]  # the example of a published site, as answers/
html_copy_source = False
html_show_sourcelink = False
