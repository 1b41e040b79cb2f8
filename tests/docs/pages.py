"""Which pages are run, and how many of their blocks may stay unrun."""

from pathlib import Path

__all__ = ["NOT_RUN", "PAGES", "ROOT"]

ROOT = Path(__file__).parents[2]

_NOT_YET = {"README.md"}
"""Pages of the root that tests/end_to_end/test_readme.py still runs in its own way."""

PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (*sorted(ROOT.glob("docs/**/*.md")), *(ROOT / name for name in {"README.md"} - _NOT_YET))
    if "_build" not in page.parts
]
"""The pages whose blocks are run."""

NOT_RUN = 30
"""The most blocks of all pages that may say ``not run``. Nobody knows whether these are right."""
