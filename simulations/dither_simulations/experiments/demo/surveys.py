"""The surveys of the demo: questions as an app would define them, and the true answers of every device."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from dither_shared import Metric, parse_metrics

from ...users.populations import Population, read_column, read_histogram

OTHER = "other"
_MOST_VALUES = 63
"""The number of a column's values that are listed; with the catch-all there are 64."""

_MOBILE = (" for Android", "Safari on iOS", "Samsung Internet", "Opera Mobile", "Android Browser", "QQ Browser")
"""Words that mark a browser family as mobile."""

_BROWSER_QUESTIONS = """\
[metrics.mobile]
description = "Is the browser one for phones?"
type = "boolean"
truth = 0.75

[metrics.browser]
description = "Which browser is it?"
type = "choice"
values = {families}
mechanism = "randomized-response"
epsilon = 1.0

[metrics.version]
description = "Which version is it, of any that there is?"
type = "string"
candidates = {versions}
epsilon = 2.0
permanent_epsilon = 4.0
bits = 128
hashes = 1
cohorts = 16

[metrics.behind]
description = "How many newer versions of the browser are there?"
type = "number"
low = 0
high = 64
unit = "versions"
epsilon = 2.0
"""

_COLUMN_QUESTION = """\
[metrics.{name}]
description = {description}
type = "choice"
values = {values}
other = {other}
epsilon = 1.0
"""


@dataclass(frozen=True)
class DemoSurvey:
    """Questions, and the true answers of each person: one value per metric.

    ``definition`` is the text of the ``metrics.toml`` that app and collector share, ``metrics`` what it says.
    """

    definition: str
    metrics: Mapping[str, Metric]
    people: tuple[Mapping[str, object], ...]

    def truth(self, name: str) -> Population:
        """Return how many of these people hold each label of a metric: the target of its estimated shares."""
        metric = self.metrics[name]
        items = [metric.item(label) for label in metric.labels]
        index = {item: position for position, item in enumerate(items)}
        held = [index[metric.item(person[name])] for person in self.people]
        return Population(metric.labels, np.bincount(held, minlength=len(items)))


def browser_survey(devices: int, rng: np.random.Generator) -> DemoSurvey:
    """Return four questions about browsers, and people drawn from their global usage (the package's table)."""
    with resources.as_file(resources.files("dither_simulations") / "data" / "browsers.csv") as table:
        versions, shares = read_histogram(table, "value", "share_percent")
    families = tuple(dict.fromkeys(map(_family, versions)))
    definition = _BROWSER_QUESTIONS.format(families=_toml(families), versions=_toml(versions))
    drawn, behind = Population.drawn(versions, shares, devices, rng), _newer(versions)
    people = (
        {
            "mobile": _is_mobile(version),
            "browser": _family(version),
            "version": version,
            "behind": behind[version],
        }
        for version in _users(drawn)
    )
    return _survey(definition, people)


def column_survey(path: Path, column: str) -> DemoSurvey:
    """Return one question about a column of a CSV file, each row being a person.

    Raises ParameterError that names the file, or the column and the columns there are.
    """
    answers = read_column(path, column)
    listed = answers.top(_MOST_VALUES, OTHER).labels
    values = [label for label in listed if label != OTHER or label in answers.labels]
    # A question needs two answers: if everyone gives the same, the catch-all is the other.
    name = re.sub(r"[^a-z0-9_.-]", "_", column.lower().lstrip("0123456789_.- "))[:64]
    name = name if re.match("[a-z]", name) else "answer"
    definition = _COLUMN_QUESTION.format(
        name=name, description=_toml(f"The column {column}"), values=_toml(values), other=_toml(OTHER)
    )
    return _survey(definition, ({name: answer} for answer in _users(answers)))


def page_survey(definition: str, visitors: int, rng: np.random.Generator) -> DemoSurvey:
    """Return what the demo's page asks, by its ``metrics.toml``, and visitors drawn for it."""
    themes = rng.choice(["light", "dark", "system"], visitors, p=[0.35, 0.45, 0.2]).tolist()
    translated = (rng.random(visitors) < 0.3).tolist()
    tabs = np.minimum(rng.geometric(0.12, visitors), 50).tolist()
    answers = zip(themes, translated, tabs, strict=True)
    return _survey(definition, (dict(zip(("theme", "translated", "tabs"), answer, strict=True)) for answer in answers))


def _survey(definition: str, people: Iterable[Mapping[str, object]]) -> DemoSurvey:
    return DemoSurvey(definition, parse_metrics(definition), tuple(people))


def _users(population: Population) -> Iterable[str]:
    return (
        label for label, count in zip(population.labels, population.counts.tolist(), strict=True) for _ in range(count)
    )


def _family(version: str) -> str:
    """Return the browser of a version such as "Safari on iOS 18.5-18.7"."""
    return version.rpartition(" ")[0]


def _is_mobile(version: str) -> bool:
    return any(mark in version for mark in _MOBILE)


def _newer(versions: Sequence[str]) -> dict[str, int]:
    """Return how many of the versions are newer ones of the same browser."""
    families: dict[str, list[tuple[int, ...]]] = {}
    for version in versions:
        families.setdefault(_family(version), []).append(_release(version))
    return {version: sum(other > _release(version) for other in families[_family(version)]) for version in versions}


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers by which versions are ordered: (18, 5) of "Safari on iOS 18.5-18.7"."""
    first, _, _ = version.rpartition(" ")[2].partition("-")
    return tuple(map(int, first.split(".")))


def _toml(value: Any) -> str:
    """Return a string or a list of strings as TOML, which reads JSON's except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
