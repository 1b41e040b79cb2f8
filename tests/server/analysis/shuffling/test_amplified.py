"""Shuffled reports: every mechanism has bounds or a reason, and a batch keeps what a metric promises of it."""

from functools import partial
from pathlib import Path

import pytest

from contract.cases import each, usual
from dither_server.analysis.shuffling.amplified import Amplified, amplified, keeps, local_epsilon, require_mixed
from dither_server.analysis.shuffling.blanket import blanket_delta, finite_law
from dither_server.analysis.shuffling.generic import generic_delta, generic_epsilon, group_delta
from dither_server.app import create_app
from dither_shared import MECHANISMS, Mechanism, ParameterError, RandomizedResponse, parse_metrics
from dither_shared.mechanisms.auto import choose
from server.cli.invoking import invoke
from server.collecting import config


@each(lambda: MECHANISMS)
def test_every_mechanism_has_bounds_or_a_reason(name: str) -> None:
    mechanism = usual(name)
    bounds = amplified(mechanism, 100, 1e-3)
    assert bounds.local == mechanism.epsilon
    if mechanism.memoised or mechanism.delta:
        assert bounds == Amplified(100, 1e-3, mechanism.epsilon, reason=bounds.reason)
        assert bounds.best == bounds.local
        assert bounds.reason
        assert ("permanent" in bounds.reason) == (mechanism.memoised)
        assert [*bounds.after(3)] == pytest.approx([3 * bounds.local, 0.0])  # losses add, and there is no δ
    else:
        assert bounds.reason is None
        assert bounds.generic == generic_epsilon(mechanism.epsilon, 100, 1e-3)
        assert bounds.generic < bounds.local
        assert (bounds.blanket is None) == (mechanism.two_level is None and finite_law(mechanism) is None)
        assert bounds.best == min(bounds.generic, bounds.blanket or bounds.generic)
    if "permanent_epsilon" in mechanism.keys:  # a permanent draw is not hidden by others
        lasting = amplified(usual(name, permanent_epsilon=2.0), 10**6, 1e-6)
        assert (lasting.generic, lasting.blanket, lasting.best) == (None, None, lasting.local)
        assert lasting.reason is not None


def test_forged_reports_hide_nobody() -> None:
    mechanism = usual("projective-geometry")
    assert amplified(mechanism, 10_000, 1e-6, forged=0.1) == amplified(mechanism, 9_000, 1e-6)
    with pytest.raises(ParameterError, match="forged"):
        amplified(mechanism, 10_000, 1e-6, forged=1.0)
    with pytest.raises(ParameterError, match="reports"):
        amplified(mechanism, 10, 1e-6, forged=0.95)


@pytest.mark.parametrize("name", ["randomized-response", pytest.param("discrete-laplace", marks=pytest.mark.slow)])
def test_reports_of_one_device_in_one_batch_cost_more_than_in_separate_batches(name: str) -> None:
    """At the same δ: their ε is more than the sum, and never more than what they tell by themselves.

    Slow for a law of more than two levels, whose pairs of values are looked at ten times.
    """
    mechanism = usual(name)
    one = amplified(mechanism, 10_000, 1e-6)
    few = [amplified(mechanism, 10_000, 1e-6, own=own) for own in (1, 2, 4)]
    assert few[0] == one
    for bounds in few[1:]:
        assert bounds.own * one.best < bounds.best < 2.5 * bounds.own * one.best
        assert bounds.after(1) == (bounds.best, 1e-6)
        assert bounds.unshuffled == bounds.own * one.local
        loss = bounds.best / bounds.own
        single = min(generic_delta(mechanism.epsilon, 10_000, loss), _blanket(mechanism, loss))
        assert group_delta(single, loss, bounds.own) <= 1e-6 * (1 + 1e-9)
    assert few[2].after(3)[0] == pytest.approx(3 * few[2].best)
    lost = amplified(mechanism, 5, 1e-6, own=1_000)
    assert lost.after(1) == (lost.unshuffled, 0.0) == (1000 * one.local, 0.0)
    for own in (0, 10**7):
        with pytest.raises(ParameterError, match="own"):
            amplified(mechanism, 10_000, 1e-6, own=own)


def _blanket(mechanism: Mechanism, loss: float) -> float:
    law = mechanism.two_level or finite_law(mechanism)
    return 1.0 if law is None else blanket_delta(law, 10_000, loss)


def test_batches_compose_and_delta_adds() -> None:
    bounds = amplified(usual("randomized-response"), 10_000, 1e-6)
    assert bounds.after(1) == (bounds.best, 1e-6)
    few, many = bounds.after(2), bounds.after(365)
    assert [*few] == pytest.approx([2 * bounds.best, 2e-6])
    assert many[0] < 0.5 * 365 * bounds.best
    assert many[1] == pytest.approx(366e-6)
    with pytest.raises(ParameterError, match="delta"):
        bounds.after(10**6)


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
