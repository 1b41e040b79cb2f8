"""``mixed`` in metrics.toml: the promise of a relay's batch."""

import pytest

from dither_shared import ParameterError, parse_metrics
from dither_shared.metrics.metric import Mixed

TOML = '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\n'


def test_a_promise_has_a_delta_of_one_in_a_million_unless_it_names_one() -> None:
    for more, delta in (("", 1e-6), (", delta = 1e-9", 1e-9)):
        text = f"{TOML}epsilon = 3.0\nmixed = {{epsilon = 1, least = 1000{more}}}\n"
        metric = parse_metrics(text)["theme"]
        assert metric.mixed == Mixed(1.0, 1000, delta)
        assert metric.least == 1000
    assert parse_metrics(f"{TOML}epsilon = 3.0\n")["theme"].least == 1


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        ("epsilon = 3\nmixed = 1", "theme.mixed: 1 is not a table such as {epsilon"),
        ("epsilon = 3\nmixed = {epsilon = 1}", "theme.mixed.least: missing"),
        ("epsilon = 3\nmixed = {least = 10}", "theme.mixed.epsilon: missing"),
        ("epsilon = 3\nmixed = {epsilon = 1, least = 1}", "theme.mixed.least: 1 is out of range"),
        ("epsilon = 3\nmixed = {epsilon = 1, least = 9.5}", "theme.mixed.least: 9.5 is not a whole number"),
        ("epsilon = 3\nmixed = {epsilon = 3, least = 10}", "theme.mixed.epsilon: 3 is not between 0 and 3"),
        ("epsilon = 3\nmixed = {epsilon = -1, least = 10}", "theme.mixed.epsilon: -1 is not between"),
        ("epsilon = 3\nmixed = {epsilon = nan, least = 10}", "theme.mixed.epsilon: nan is not between"),
        ("epsilon = 3\nmixed = {epsilon = 1, least = 10, delta = 0.2}", "theme.mixed.delta: 0.2 is not between"),
        ("epsilon = 3\nmixed = {epsilon = 1, least = 10, delta = 0}", "theme.mixed.delta: 0 is not between"),
        ("epsilon = 3\nmixed = {epsilon = 1, least = 10, most = 3}", "theme.mixed.most: unknown"),
        ("epsilon = 4.1\nmixed = {epsilon = 1, least = 10}", "theme.epsilon: 4.1 is above 4"),
        ("epsilon = 1\npermanent_epsilon = 2\nmixed = {epsilon = 0.5, least = 10}", "theme.mixed: a permanent draw"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_promise_is_named(lines: str, mistake: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_metrics(f"{TOML}{lines}\n", "m.toml")
    assert str(caught.value).startswith(f"m.toml: metrics.{mistake}")


def test_a_law_with_a_delta_has_no_proven_bound() -> None:
    text = (
        '[metrics.x]\ntype = "number"\nlow = 0\nhigh = 1\nmechanism = "discrete-gaussian"\nepsilon = 1\ndelta = 1e-9\n'
    )
    with pytest.raises(ParameterError, match="mixed: no bound is proven for discrete-gaussian"):
        parse_metrics(f"{text}\nmixed = {{epsilon = 0.5, least = 10}}\n")
