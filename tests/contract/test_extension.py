"""A mechanism of another package can be defined, recorded, collected and shown."""

import ast
import csv
import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from flask import Flask

import dither
import dither_server
import dither_shared
import dither_simulations
from contract import test_facts, test_law, test_privacy
from dither_server.app import collector_of, create_app
from dither_server.estimation.decoders.decoder import Decoder, Support
from dither_server.estimation.decoders.support import DECODERS, support
from dither_server.store.definitions import from_json, to_json
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, Entropy, KeyedEntropy, Mechanism, Metric, Shape, parse_metrics
from dither_shared.mechanism import Item
from dither_shared.mechanisms.auto import candidates
from dither_shared.primitives.probability import ONE, checked_epsilon, exp_below, threshold_down
from server.collecting import config
from server.devices import bodies, count

ANSWERS = {"dark": 90, "light": 40, "system": 20, "other": 0}
DEFINITION = """
[metrics.theme]
type = "choice"
mechanism = "shifted-response"
values = ["dark", "light", "system"]
epsilon = 3.0
"""


@dataclass(frozen=True, kw_only=True)
class Shifted(Mechanism):
    """Randomized response to the question of cohort c: what comes c places after your answer?"""

    name: ClassVar[str] = "shifted-response"

    size: int
    truth: Fraction

    def __post_init__(self) -> None:
        lie = (1 - self.truth) / (self.size - 1)
        law = {"a": self.truth, "b": lie, "p": self.truth, "q": lie, "ratio": self.truth / lie}
        self._derive(shape=Shape.SYMBOL, cohorts=self.size, cells=self.size, **law)

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the mechanism whose odds of the truth are e^ε."""
        assert size is not None
        odds = exp_below(checked_epsilon(epsilon))
        return cls(size=size, truth=Fraction(threshold_down(odds / (odds + size - 1)), ONE))

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the shifted item."""
        assert isinstance(item, int)
        return ((item + cohort) % self.size,)

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the shifted item, or another."""
        (symbol,) = self.marked(item, cohort)
        if not entropy.bernoulli(int(self.truth * ONE)):
            symbol = (symbol + 1 + entropy.below(self.size - 1)) % self.size
        return self.row_format.symbol(symbol)


@pytest.fixture
def metric(monkeypatch: pytest.MonkeyPatch) -> Metric:
    """Return a metric that names the mechanism, which is added to the only registry."""
    monkeypatch.setitem(MECHANISMS, Shifted.name, Shifted)
    return parse_metrics(DEFINITION)["theme"]


@pytest.fixture
def app(tmp_path: Path, metric: Metric) -> Iterator[Flask]:
    app = create_app(config(tmp_path, metrics={metric.name: metric}))
    with closing(collector_of(app)):
        yield app


def test_mechanism_from_outside_is_recorded_estimated_exported_and_shown(app: Flask, metric: Metric) -> None:
    http, entropy = app.test_client(), KeyedEntropy(b"an extension")
    answers = [answer for answer, number in ANSWERS.items() for _ in range(number)]
    count(app, (body for answer in answers for body in bodies({metric.name: metric}, entropy, {metric.name: answer})))
    url = f"/v1/metrics/{metric.name}/estimate"
    answer = http.get(url).get_json()
    assert answer["mechanism"] == Shifted.name
    assert answer["reports"] == sum(ANSWERS.values())
    for row, people in zip(answer["values"], ANSWERS.values(), strict=True):  # of seeded entropy
        assert abs(row["frequency"] - people / 150) < 4 * row["standard_error"]
        assert row["low"] <= row["frequency"] <= row["high"] or row["frequency"] < 0
    assert [check["odd"] for check in answer["health"]] == [False] * len(answer["health"])
    written = list(csv.DictReader(io.StringIO(http.get(f"{url}?format=csv").text)))
    assert [row["value"] for row in written] == list(ANSWERS)
    assert [float(row["frequency"]) for row in written] == [row["frequency"] for row in answer["values"]]
    page = http.get(f"/m/{metric.name}")
    assert page.status_code == 200
    for shown in (Shifted.name, *ANSWERS):
        assert shown in page.text
    assert from_json(to_json(metric), metric.version).mechanism == metric.mechanism


def test_auto_weighs_a_mechanism_from_outside(metric: Metric) -> None:
    ranked = {mechanism.name: risk for mechanism, risk in candidates(4, 3.0).items()}
    assert ranked[Shifted.name] == pytest.approx(ranked["randomized-response"])


def test_contract_holds_for_a_mechanism_from_outside(metric: Metric) -> None:
    cases = (metric.mechanism, Shifted.calibrate(2, 1.0), Shifted.calibrate(5, 0.5))
    for holds in (
        test_law.test_cells_are_reported_with_the_stated_probabilities,
        test_law.test_estimates_are_unbiased_with_the_stated_variance,
        test_law.test_rows_round_trip_and_tally_as_counted_by_hand,
        test_law.test_rows_that_no_device_sends_are_refused,
        test_facts.test_value_marks_the_stated_number_of_cells,
        test_facts.test_reports_have_the_stated_number_of_cells,
        test_facts.test_uniform_cells_are_reported_equally_often_for_every_value,
        test_facts.test_one_report_moves_an_estimate_by_the_stated_reach,
        test_facts.test_memoised_mechanisms_state_the_law_of_their_permanent_draws,
    ):
        holds(cases)
    test_privacy.test_exact_ratio_is_the_stated_one_and_spends_the_declared_epsilon(
        (mechanism.epsilon, mechanism) for mechanism in cases
    )


def test_no_code_outside_the_registries_branches_on_a_mechanism_class() -> None:
    """A fact that is missing is added to ``Mechanism``: a check of a class excludes new mechanisms."""
    families = {each.__name__ for family in MECHANISMS.values() for each in family.__mro__} - {"object", "ABC"}
    places = []
    for package in (dither, dither_server, dither_shared, dither_simulations):
        (folder,) = package.__path__
        for path in Path(folder).rglob("*.py"):
            if {"mechanisms", "decoders", "samplers"} & set(path.relative_to(folder).parts):
                continue
            if not any(name in (source := path.read_text("utf-8")) for name in families):
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("isinstance", "register")):
                    named = {
                        each.id for argument in node.args for each in ast.walk(argument) if isinstance(each, ast.Name)
                    }
                    places += [f"{path}:{node.lineno}"] if named & families else []
    assert places == []


def _decoders() -> dict[Any, Any]:
    return DECODERS  # typed loosely, because monkeypatch cannot infer an abstract class as key


def test_mechanism_from_outside_may_bring_its_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Decoder[Shifted]):
        def support(self, mechanism: Shifted, tally: Tally, labels: tuple[str, ...]) -> Support:
            return Support(np.arange(mechanism.size), np.full(mechanism.size, 7))

    class Derived(Shifted):
        """A subclass without a decoder of its own."""

    monkeypatch.setitem(_decoders(), Shifted, Own())
    for mechanism in (Shifted.calibrate(3, 1.0), Derived.calibrate(3, 1.0)):
        assert support(mechanism, Tally.zero(mechanism), ()).supporting.tolist() == [0, 1, 2]
