"""Run pages of the documentation: ``python -m tests.docs.run [PAGE ...]``; without a page, list the blocks not run."""

import sys
import time
from pathlib import Path

from .blocks import blocks_of
from .pages import PAGES, ROOT
from .running import run_page


def not_run() -> list[str]:
    """Return the blocks of all pages that are not run: where, and why."""
    return [
        f"{page}:{block.line}: {block.not_run}"
        for page in PAGES
        for block in blocks_of((ROOT / page).read_text(encoding="utf-8"))
        if block.not_run
    ]


def main(pages: list[str]) -> int:
    """Run pages, print what fails of each, and return the exit status."""
    failed = 0
    for page in pages:
        began = time.monotonic()
        run = run_page(Path(page))
        failed += bool(run.problems)
        said = "fails" if run.problems else f"skipped {run.skipped}" if run.skipped else "holds"
        print(f"{page}: {said} ({time.monotonic() - began:.1f} s)", *run.problems, sep="\n  ")
    if not pages:
        print(*not_run(), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
