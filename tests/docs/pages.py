"""Which pages are run, and how many of their blocks may stay unrun."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    if "_build" not in page.parts
]
"""The pages whose blocks are run."""

SLOW = {
    "docs/explanation/numbers.md": "configures four mechanisms of numbers at four epsilon",
    "docs/how-to/deploy-postgresql.md": "starts PostgreSQL; deploy.md is the same page on SQLite",
    "docs/how-to/plan.md": "simulates surveys of several mechanisms",
    "docs/how-to/publish.md": "runs a demo of its own",
    "docs/how-to/read-elsewhere.md": "counts 14,000 reports twice",
    "docs/how-to/read.md": "draws and counts 42,000 reports",
    "docs/how-to/scale.md": "starts Dask and several collectors",
    "docs/how-to/testing.md": "runs pytest three times",
    "docs/how-to/upkeep.md": "starts 25 programs",
    "docs/tutorials/command-line-tool.md": "runs an app of its own many times, and pytest",
    "docs/tutorials/small-team.md": "counts the reports of eight weeks",
}
"""Pages that take 2 to 8 seconds of processor time, with the reason; ``make test`` only parses their blocks."""

NOT_RUN = 16
"""The most blocks of all pages that may say ``not run``. Nobody knows whether these are right."""
