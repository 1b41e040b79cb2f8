"""What a metric promises of a batch follows from its mechanism, or the collector refuses it."""

import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from dither_server.analysis.shuffling.amplified import amplified, keeps, local_epsilon, require_mixed
from dither_server.app import create_app
from dither_shared import MECHANISMS, ParameterError, RandomizedResponse, parse_metrics
from dither_shared.mechanisms.auto import choose
from server.analysis.shuffling.exact import exact_delta, table_of
from server.cli.invoking import invoke
from server.collecting import config

TOML = """
[metrics.theme]
type = "choice"
values = ["light", "dark", "system"]
epsilon = {epsilon}
mixed = {{epsilon = {mixed}, least = {least}}}
"""


def test_batch_keeps_the_promise_that_its_bound_proves_and_no_stronger_one() -> None:
    mechanism = choose(10, 2.0)
    best = amplified(mechanism, 1000, 1e-6).best
    assert keeps(mechanism, best * 1.0001, 1000, 1e-6)
    assert not keeps(mechanism, best * 0.999, 1000, 1e-6)
    assert keeps(mechanism, best * 0.999, 1100, 1e-6)
    assert keeps(mechanism, mechanism.epsilon, 1, 1e-6)


def test_promise_below_the_exact_delta_is_not_accepted() -> None:
    """By enumeration of all that five others may hold."""
    for epsilon in (0.5, 1.0, 2.0):
        coin = RandomizedResponse.calibrate(2, epsilon)
        for part in (0.3, 0.6, 0.9):
            truth = exact_delta(table_of(coin, range(2)), 6, Fraction(math.exp(part * epsilon)))
            assert not keeps(coin, part * epsilon, 6, float(truth) * 0.999)


def test_permanent_draws_and_laws_with_a_delta_are_never_kept() -> None:
    lasting = RandomizedResponse.calibrate(3, 1.0, 2.0)
    gaussian = MECHANISMS["discrete-gaussian"].configure(None, {"epsilon": 1.0, "delta": 1e-9})
    for mechanism in (lasting, gaussian):
        assert not keeps(mechanism, 0.9, 10**6, 1e-6)


@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 502), (0.5, 502), (0.2, 10_000)])
def test_the_largest_epsilon_of_a_report_is_found_to_a_thousandth(epsilon: float, least: int) -> None:
    at = partial(choose, 10)
    local, mechanism = local_epsilon(at, epsilon, least, 1e-6)
    assert epsilon < local < 4
    assert keeps(mechanism, epsilon, least, 1e-6)
    assert not keeps(at(local + 0.001), epsilon, least, 1e-6)
    assert local_epsilon(at, epsilon, 2, 1e-6)[0] == epsilon  # two reports hide nothing at that delta
    assert local_epsilon(at, epsilon, 10**6, 1e-6)[0] == 4


def test_a_collector_refuses_a_promise_that_its_batches_do_not_keep(tmp_path: Path) -> None:
    good = parse_metrics(TOML.format(epsilon=3.0, mixed=1.0, least=2000))
    require_mixed(good.values())
    bad = TOML.format(epsilon=3.0, mixed=1.0, least=200)
    refused = r"metrics.theme.mixed: at epsilon = 3 a batch of 200 reports guarantees only .*, not 1;"
    with pytest.raises(ParameterError, match=refused):
        require_mixed(parse_metrics(bad).values())
    with pytest.raises(ParameterError, match="mixed"):
        create_app(config(tmp_path, metrics=parse_metrics(bad)))
    (tmp_path / "metrics.toml").write_text(bad, encoding="utf-8")
    checked = invoke(tmp_path, "doctor")
    assert checked.exit_code == 2
    assert "metrics.theme.mixed: at epsilon = 3 a batch of 200 reports guarantees" in checked.output
