"""Make the example of a published site in ``docs``: ten weeks of an invented app.

``python docs/_ext/published_example.py FOLDER`` writes it. Devices run their own randomizers with a
seed, and a collector's store counts their rows, so it comes out the same each time.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from dither_server.dashboard.publishing.contents import SiteScope
from dither_server.dashboard.publishing.site import Site
from dither_server.store import Store, Upload
from dither_shared import Metric, Report, parse_metrics
from dither_simulations.samplers.devices import device_entropy

_FIRST, _WEEKS, _CHANGED = date(2026, 9, 7), 10, 6
"""The first day, a Monday; the number of weeks; and the number of weeks with the first version of ``theme``."""

_SHARD = b"published answer"
"""The shard id of the counting process; the shard of closed days is all zeros."""

_REPORTS = 140
"""Reports per metric and day."""

_THEMES = ("light", "dark", "system", "sepia")
_PLUGINS = {"spelling": 0.7, "git": 0.4, "lint": 0.3, "vim": 0.12, "pdf": 0.25, "diagrams": 0.02}
_FORMATS = {"html": 0.15, "pdf": 0.45, "docx": 0.3, "epub": 0.02, "latex": 0.08}
"""The share of people who have each format."""
_DEFINITION = """\
# The questions of a writing app that does not exist, for the example of a published site.

[metrics.theme]
description = "Which theme do people use?"
why = "To drop themes that nobody uses."
tier = "interaction"
type = "choice"
values = {themes}
epsilon = 1.5

[metrics.mobile]
description = "Is it running on a phone?"
why = "To know whether small screens come first."
tier = "technical"
type = "boolean"
epsilon = 1.0

[metrics.plugins]
description = "Which plugins are switched on?"
why = "To decide which ones the app brings along."
tier = "interaction"
type = "selection"
values = {plugins}
epsilon = 4.0

[metrics.start]
description = "How long does the app take to start?"
why = "To find out whether starting is slow where the makers do not see it."
tier = "technical"
type = "number"
low = 0
high = 10
unit = "s"
epsilon = 2.0
strata = {{platform = ["linux", "mac", "windows"]}}

[metrics.format]
description = "In which format was the last text exported?"
why = "To know which exporters must not break."
tier = "content"
type = "string"
epsilon = 3.0
bits = 32
hashes = 1
cohorts = 2
candidates = ["html", "pdf", "docx", "epub", "latex", "rtf"]
"""


def publish_example(out: Path) -> None:
    """Write the example to a folder, replacing an earlier one."""
    definition = _definition(_THEMES)
    metrics, before = parse_metrics(definition), parse_metrics(_definition(_THEMES[:3]))
    rng = np.random.default_rng(19)
    with (
        tempfile.TemporaryDirectory(prefix="dither-example-") as folder,
        closing(Store(f"sqlite:///{folder}/example.db")) as store,
    ):
        store.register([*metrics.values(), before["theme"]])
        for number in range(7 * _WEEKS):
            asked = metrics if number >= 7 * _CHANGED else {**metrics, "theme": before["theme"]}
            store.commit(list(_day(asked, number, rng)), _FIRST + timedelta(days=number), _SHARD)
        days = SiteScope(None, _FIRST + timedelta(days=7 * _WEEKS - 1))
        Site(metrics, definition.encode(), days, "What writers told us", identity="example").publish(store, out)


def _definition(themes: Iterable[str]) -> str:
    written = ("[" + ", ".join(f'"{one}"' for one in some) + "]" for some in (themes, _PLUGINS))
    return _DEFINITION.format(**dict(zip(("themes", "plugins"), written, strict=True)))


def _day(metrics: Mapping[str, Metric], number: int, rng: np.random.Generator) -> Iterator[Upload]:
    """Yield a batch of each metric and stratum: what devices make of people's true answers on a day."""
    for name, metric in metrics.items():
        places = (0,) if metric.strata is None else range(3)
        for place in places:
            answers = [_answer(name, number, rng) for _ in range(_REPORTS // len(places))]
            if metric.strata is not None:
                answers = [float(str(one)) * (0.7, 0.9, 1.4)[place] for one in answers]
            entropy = device_entropy(np.random.SeedSequence(int(rng.integers(2**32))))
            rows = b""
            for answer in answers:
                item = metric.answers.encode(answer).rounded(entropy)
                cohort = metric.mechanism.draw_cohort(entropy)
                payload = metric.mechanism.randomize(item, entropy, cohort)
                rows += Report(cohort, payload).encode(metric.mechanism)
            yield Upload(rng.bytes(16), metric, rows, place)


def _answer(name: str, day: int, rng: np.random.Generator) -> object:
    """Return what a person truly answers on a day: dark themes come into fashion."""
    match name:
        case "theme":
            dark, sepia = 0.35 + 0.002 * day, 0.03 if day >= 7 * _CHANGED else 0.0
            return str(rng.choice(_THEMES, p=[0.63 - dark - sepia, dark, 0.37, sepia]))
        case "mobile":
            return bool(rng.random() < 0.2)
        case "plugins":
            return [plugin for plugin, share in _PLUGINS.items() if rng.random() < share]
        case "start":
            return float(rng.gamma(3.0, 0.6))
        case _:
            return str(rng.choice(list(_FORMATS), p=list(_FORMATS.values())))


if __name__ == "__main__":
    publish_example(Path(sys.argv[1]))
