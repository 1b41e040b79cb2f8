"""``dither-sim plan --relay``: how many people are enough if their reports are mixed."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dither_server.analysis.shuffling.amplified import amplified, keeps, local_epsilon, require_mixed
from dither_shared import parse_metrics
from dither_shared.mechanisms.auto import choose
from dither_simulations.cli import main
from dither_simulations.experiments.plan.relay import RelayPlan
from dither_simulations.experiments.plan.shares import SharePlanner


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["plan", "--relay", *map(str, arguments)])


def test_the_batch_reaches_the_aim_keeps_its_epsilon_and_one_report_less_does_not() -> None:
    plan = SharePlanner(size=10, epsilons=(1.0,), error=0.03, days=13)
    (row,) = RelayPlan(plan, 1e-6).rows()
    least, local = row["least"], row["local"]
    mechanism = choose(10, local)
    assert keeps(mechanism, 1.0, least, 1e-6)
    assert plan.margin(mechanism, np.array([least]))[0] <= 0.03
    below = local_epsilon(partial(choose, 10), 1.0, least - 1, 1e-6)[1]
    assert plan.margin(below, np.array([least - 1]))[0] > 0.03
    assert (least, row["users_local"]) == (1607, 15_372)  # a tenth of the people, at the same ε of a batch
    together = amplified(mechanism, least, 1e-6).after(13)
    assert (row["epsilon_days"], row["delta_days"]) == together
    assert together[0] < amplified(mechanism, least, 1e-6, own=13).best / 2  # as when they could share a batch


def test_a_definition_with_the_lines_that_are_printed_is_one_that_a_collector_takes() -> None:
    shown = run("-k", "3", "--epsilon", "0.5", "--error", "0.1", "-n", "100")
    assert shown.exit_code == 0, shown.output
    lines = [line.strip() for line in shown.stdout.splitlines() if line.startswith(("  epsilon = ", "  mixed = "))]
    metrics = parse_metrics("\n".join(['[metrics.x]\ntype = "choice"\nvalues = ["a", "b"]', *lines]))
    require_mixed(metrics.values())
    assert metrics["x"].mixed is not None
    assert "100 users in each period never fill a batch" in shown.stdout
    assert 'or once (period = "once": full after ' in shown.stdout
    full = run("-k", "3", "--epsilon", "0.5", "--error", "0.1", "-n", "100000").stdout
    assert "100,000 users in each period fill a batch each period." in full


def test_numbers_are_planned_too() -> None:
    (row,) = json.loads(run("--type", "number", "--epsilon", "1", "--error", "0.05", "--json").stdout)
    assert row["least"] < row["users_local"] / 3
    assert row["local"] > 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-k", "3", "--permanent-epsilon", "2"), "--permanent-epsilon: a permanent draw links reports"),
        (("-k", "3", "--epsilon", "1,4"), "--epsilon: must be below 4 with --relay"),
    ],
)
def test_what_no_relay_helps_is_refused(options: tuple[str, ...], told: str) -> None:
    result = run(*options)
    assert result.exit_code == 2
    assert told in result.output
