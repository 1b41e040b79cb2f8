"""A kind of question of another package can be asked, recorded, estimated and shown.

It asks for one to five stars and estimates their average. Any mechanism for listed answers serves.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from click.testing import CliRunner
from jinja2 import ChoiceLoader, DictLoader

import dither
from dither_server.analysis.columns import Column, Table
from dither_server.app import collector_of, create_app
from dither_server.cli.main import cli
from dither_server.estimation.estimate import debiased
from dither_server.reading.query import Query
from dither_server.reading.schemas import NUMBER, REPORTS, TEXT, Schema, closed
from dither_server.reading.summaries import SUMMARIES
from dither_server.reading.summaries.summary import CollectedReports, Summary
from dither_server.reading.summaries.terminal_text import TextTable
from dither_server.reading.summaries.view import EstimateView, PointEstimate
from dither_server.store.definitions import from_json, to_json
from dither_server.tally.tally import Tally
from dither_shared import (
    MECHANISMS,
    QUESTIONS,
    KeyedEntropy,
    Mechanism,
    Metric,
    ParameterError,
    Question,
    parse_metrics,
)
from dither_shared.encoding import Answers, Encoded
from dither_shared.languages import ENGLISH, Language
from dither_shared.mechanism import LISTED, Items
from dither_shared.plain import plain
from dither_shared.questions.fields import Fields
from server.collecting import config, environment
from server.devices import bodies, count

STARS = {1: 10, 2: 20, 3: 20, 4: 60, 5: 90}
AVERAGE = sum(stars * people for stars, people in STARS.items()) / sum(STARS.values())
DEFINITION = '[metrics.liked]\ntype = "stars"\nmost = 5\nepsilon = 4.0\n'


@dataclass(frozen=True)
class Stars(Question):
    """A question for one to ``most`` stars; an answer that is no number counts as one star and a mistake."""

    kind: ClassVar[str] = "stars"
    keys: ClassVar[frozenset[str]] = frozenset({"most"})
    items: ClassVar[Items] = LISTED

    most: int

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(int(fields.number("most")))

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism] | None:  # noqa: ARG003 - it depends on nothing
        return None

    def stored(self) -> dict[str, object]:
        return {"most": self.most}

    @property
    def domain_digest(self) -> object:
        return {"stars": self.most}

    @property
    def size(self) -> int:
        return self.most

    def answers(self, mechanism: Mechanism) -> Answers:
        return _Read(self.most)

    def words(self, say: Language = ENGLISH) -> str:
        return f"1 to {self.most} stars"

    @property
    def example(self) -> object:
        return 1


class _Read(Answers):
    wanted = "give a number of stars"

    def __init__(self, most: int) -> None:
        self._most = most

    def encode(self, value: object) -> Encoded:

        stars = plain(value)
        if not isinstance(stars, float | int):
            return Encoded(0, outside=True, mistake=True)
        inside = min(max(int(stars), 1), self._most)
        return Encoded(inside - 1, outside=inside != stars)


@dataclass(frozen=True)
class Average:
    """An average and its number of reports."""

    reports: int
    average: float
    size: int = 16


@dataclass(frozen=True)
class Shown(EstimateView):
    """The average as a sentence."""

    template: ClassVar[str] = "kinds/stars.html"

    @property
    def needs(self) -> str:
        return "a few"

    @property
    def average(self) -> float:
        return float(self.table.columns["average"][0])

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        return [PointEstimate("average", str(self.average), "", None, None, None)]


class Averages(Summary):
    """The average number of stars."""

    shown_by: ClassVar[type[EstimateView]] = Shown
    columns: ClassVar[tuple[Column, ...]] = (Column("average", float),)
    schema: ClassVar[Schema] = Schema(
        "Average", closed({"metric": TEXT, "reports": REPORTS, "average": NUMBER, "values": {}})
    )

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Average:

        size = metric.question.size or 0
        shares = debiased(metric.mechanism, tuple(map(str, range(size))), tally).frequency
        return Average(tally.total, float(shares @ np.arange(1, size + 1)))

    def effort(self, metric: Metric) -> int:

        return 1

    def table(self, survey: CollectedReports, query: Query) -> Table:

        estimate = survey.estimate(query.confidence)
        about = {"metric": survey.metric.name, "version": survey.metric.version, "reports": estimate.reports}
        about |= {"since": str(survey.days[0]), "until": str(survey.days[1]), "health": [], "simultaneous": None}
        return Table(about | {"confidence": query.confidence}, {"average": [estimate.average]})

    def text(self, answer: Mapping[str, Any]) -> TextTable:

        return TextTable(["on average"], [("stars",), (f"{answer['values'][0]['average']:.2f}",)])


TEMPLATE = """{% macro find(estimates, view) %}{% endmacro %}
{% macro answers(card, estimates, view, formats) %}<p>{{ estimates.average }} stars</p>{% endmacro %}
{% macro doubts(card, estimates, percent) %}{% endmacro %}"""


@pytest.fixture
def metric(monkeypatch: pytest.MonkeyPatch) -> Metric:
    """Return a metric of the question, which is added to the two registries."""
    monkeypatch.setitem(QUESTIONS, Stars.kind, Stars)
    monkeypatch.setitem(SUMMARIES, Stars.kind, Averages())
    return parse_metrics(DEFINITION)["liked"]


def test_question_from_outside_is_recorded_estimated_exported_and_shown(tmp_path: Path, metric: Metric) -> None:
    app = create_app(config(tmp_path, metrics={metric.name: metric}))
    loaders = [DictLoader({"kinds/stars.html": TEMPLATE}), app.jinja_env.loader]
    app.jinja_env.loader = ChoiceLoader([loader for loader in loaders if loader])
    entropy = KeyedEntropy(b"another kind")
    with closing(collector_of(app)):
        http = app.test_client()
        metrics = {metric.name: metric}
        with closing(dither.Client(metrics, "http://localhost", "x", dither.MemoryState(), environ={})) as device:
            assert "1 to 5 stars" in device.consent_text()
        people = (answer for answer, number in STARS.items() for _ in range(number))
        count(app, (body for answer in people for body in bodies(metrics, entropy, {metric.name: answer})))
        url = f"/v1/metrics/{metric.name}/estimate"
        answer = http.get(url).get_json()
        (row,) = answer["values"]
        assert answer["reports"] == sum(STARS.values())
        assert abs(row["average"] - AVERAGE) < 0.3  # of 200 reports, and entropy is seeded, so it is deterministic
        (written,) = csv.DictReader(io.StringIO(http.get(f"{url}?format=csv").text))
        assert (written["metric"], float(written["average"])) == ("liked", row["average"])
        assert f">{row['average']}</span>" in http.get("/").text
        assert f"<p>{row['average']} stars</p>" in http.get(f"/m/{metric.name}").text
        for path, place in (("trend", "metric"), ("compare", "other"), ("estimate?top=2", "values")):
            refused = http.get(f"/v1/metrics/{metric.name}/{path}")
            assert (refused.status_code, refused.get_json()["detail"].partition(":")[0]) == (400, place)
        (tmp_path / "metrics.toml").write_text(DEFINITION, encoding="utf-8")
        printed = CliRunner().invoke(cli, ["estimate", "liked"], env=environment(tmp_path))
        assert f"{row['average']:.2f}" in printed.output
    assert from_json(to_json(metric), metric.version) == metric


def test_definition_of_a_question_from_outside_is_read_like_any_other(metric: Metric) -> None:
    assert (metric.question, metric.mechanism.size) == (Stars(5), 5)
    other = parse_metrics(DEFINITION.replace("5", "6"))["liked"]
    assert other.version != metric.version
    with pytest.raises(ParameterError, match=r"metrics\.liked\.least: unknown"):
        parse_metrics(DEFINITION + "least = 2\n")
    with pytest.raises(ParameterError, match="rappor takes any string; a metric of type stars has other answers"):
        parse_metrics(DEFINITION + 'mechanism = "rappor"\n')
    names = [name for name, family in MECHANISMS.items() if family.items == Stars.items]
    for name in names:
        assert parse_metrics(DEFINITION + f'mechanism = "{name}"\n')["liked"].mechanism.name == name
