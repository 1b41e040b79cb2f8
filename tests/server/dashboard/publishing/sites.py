"""What the tests of published sites share: a database of every kind of question, and its site."""

import shutil
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from dither_server.dashboard.publishing.contents import SiteScope
from dither_server.dashboard.publishing.site import Site
from dither_server.store import Store
from dither_server.store.tallies import Refusal
from dither_shared import Metric, parse_metrics
from server.collecting import rows_of, sealed_upload, upload
from server.dashboard.shown import HOSTILE_TOML

MONDAY = date(2026, 9, 7)
LAST = MONDAY + timedelta(days=23)
"""The last day with reports: a Wednesday, of the fourth week."""

THEME_TOML = """
[metrics.theme]
description = "Which theme do people use?"
why = "To drop <themes> that nobody uses."
type = "choice"
values = {}
mechanism = "randomized-response"
epsilon = 2.0
"""
KINDS_TOML = (
    THEME_TOML.format(["light", "dark", "system"])
    + HOSTILE_TOML
    + """
[metrics.mobile]
type = "boolean"
truth = 0.75

[metrics.plugins]
type = "selection"
values = ["spell", "git", "lint"]
epsilon = 4.0

[metrics.start]
type = "number"
low = 0
high = 10
unit = "s"
epsilon = 2.0
strata = {platform = ["linux", "windows"]}

[metrics.version]
type = "string"
epsilon = 3.0
permanent_epsilon = 5.0
bits = 32
hashes = 1
cohorts = 2
candidates = ["1.0", "</td><script>alert(3)</script>"]

[metrics.open]
type = "string"
epsilon = 2.0

[metrics.crash]
type = "string"
epsilon = 4.0
buckets = 1024
discover = {alphabet = "a-d.", length = 3}

[metrics.both]
type = "cross"
cross = {theme = ["light", "dark"], device = ["phone", "<desktop>"]}
epsilon = 3.0

[metrics.unasked]
description = "Of which no report came yet"
type = "boolean"
truth = 0.75
"""
)
KINDS = parse_metrics(KINDS_TOML)
FORMER = parse_metrics(THEME_TOML.format(["light", "dark"]))["theme"]
GONE = parse_metrics('[metrics.gone]\ntype = "boolean"\ntruth = 0.75\n')["gone"]
ANSWERS: dict[str, Any] = {
    "theme": "dark", "hostile": "=cmd()", "mobile": True, "plugins": ["spell", "git"], "start": 3.0, "version": "1.0",
    "open": "x", "crash": "ab", "both": ("dark", "phone"), "gone": True,
}  # fmt: skip


def answers_of(metric: Metric, count: int, seed: str) -> bytes:
    """Rows of devices that all answer alike."""
    return rows_of(metric, count, seed.encode(), ANSWERS[metric.name])


def filled(folder: Path) -> str:
    """Fill a database in a folder, and return its URL.

    Its reports are of four weeks, the last one unfinished; the theme has a new version from the third week on.
    """
    with closing(Store(url := f"sqlite:///{folder}/dither.db")) as store:
        store.register([*KINDS.values(), FORMER, GONE])
        for number in range(24):
            asked = {name: one for name, one in KINDS.items() if name not in {"unasked", "theme"} and number % 3 == 2}
            asked |= {"theme": FORMER if number < 14 else KINDS["theme"]}
            asked |= {"gone": GONE} if number < 5 else {}
            uploads = [upload(metric, answers_of(metric, 30, f"{name}{number}")) for name, metric in asked.items()]
            store.commit(uploads, MONDAY + timedelta(days=number), b"s" * 16)
        sealed = sealed_upload(KINDS["mobile"], rows=answers_of(KINDS["mobile"], 30, "sealed"))
        store.commit([sealed], LAST, b"s" * 16)
        store.add_refusals({Refusal("theme", LAST, "malformed", KINDS["theme"].version): 3}, b"s" * 16)
    return url


def published(url: str, out: Path, until: date = LAST, **changed: Any) -> Path:
    """Publish a database, and return the site."""
    scope = SiteScope(changed.pop("since", None), until, discovered=changed.pop("discovered", False))
    settings: dict[str, Any] = {"metrics": KINDS, "definition": KINDS_TOML.encode(), "title": "What <people> said"}
    with closing(Store(url, create=False)) as store:
        Site(**settings | changed, scope=scope).publish(store, out)
    return out


def copied(url: str, folder: Path) -> str:
    """Copy a database into a folder, for a test that changes it."""
    shutil.copy(url.removeprefix("sqlite:///"), folder / "dither.db")
    return f"sqlite:///{folder}/dither.db"


def files_of(site: Path) -> dict[str, bytes]:
    """Every file of a site, by its path."""
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}
