"""Which pages are run, and how many of their blocks may stay unrun."""

from pathlib import Path

__all__ = ["NOT_RUN", "PAGES", "ROOT"]

ROOT = Path(__file__).parents[2]

PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    if "_build" not in page.parts
]
"""The pages whose blocks are run."""

NOT_RUN = 16
"""The most blocks of all pages that may say ``not run``. Nobody knows whether these are right."""
