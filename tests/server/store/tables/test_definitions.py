"""Definitions in the database bring back the metric that they were written from."""

import pytest

from dither_server.store.tables.definitions import from_json, to_json
from dither_shared import MECHANISMS, Metric, ParameterError, parse_metrics
from server.collecting import METRICS

CORNER = parse_metrics(
    '[metrics.corner]\ntype = "string"\nf = 0.5\np = 0\nq = 1\ncandidates = ["é\\u0000"]\n',
)["corner"]


CHOICES = parse_metrics(
    "".join(
        f'[metrics.{name}]\ntype = "choice"\nmechanism = "{name}"\nvalues = ["a", "b", "c"]\nepsilon = 1.5\n'
        for name, family in MECHANISMS.items()
        if not family.items.open
    )
)
"""A metric of every family, so that a new one is held to coming back too."""


@pytest.mark.parametrize("metric", [*METRICS.values(), *CHOICES.values(), CORNER], ids=lambda metric: metric.name)
def test_a_definition_comes_back_whole(metric: Metric) -> None:
    text = to_json(metric)
    assert from_json(text, metric.version) == metric
    assert to_json(from_json(text, metric.version)) == text


def test_an_altered_definition_is_noticed() -> None:
    altered = to_json(METRICS["theme"]).replace("dark", "dork")
    with pytest.raises(ParameterError, match="altered"):
        from_json(altered, METRICS["theme"].version)


def test_a_mechanism_of_another_program_is_named_as_such() -> None:
    foreign = to_json(METRICS["theme"]).replace("randomized-response", "of-the-future")
    with pytest.raises(ParameterError, match="not known to this program"):
        from_json(foreign, METRICS["theme"].version)
