"""Numbers from real clients through a real collector to its answer, and from devices' draws to what intervals hold."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.numeric_devices import MADE_UP, metric_of, run, truth
from dither_shared import parse_metrics
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_simulations.collection.collector_process import fetch_estimate, running_collector
from dither_simulations.collection.fleet import send_all

DEVICES, EPSILON, CONFIDENCE = 300, 6.0, 1 - 1e-8
DEFINITION = "".join(
    f'[metrics.{name}]\ntype = "number"\nlow = {column.low}\nhigh = {column.high}\nepsilon = {EPSILON}\n'
    for name, column in MADE_UP.items()
)


def test_numbers_recorded_by_clients_come_out_of_the_collector(tmp_path: Path) -> None:
    """The noise is the operating system's: this fails by chance with a probability below 1e-7."""
    rng, metrics, definition = np.random.default_rng(0), parse_metrics(DEFINITION), tmp_path / "metrics.toml"
    definition.write_text(DEFINITION)
    answers = {name: rng.choice(column.numbers, DEVICES, p=column.shares) for name, column in MADE_UP.items()}
    people = [{name: float(held[person]) for name, held in answers.items()} for person in range(DEVICES)]
    with running_collector(definition, tmp_path) as collector:
        assert send_all(metrics, collector.url, people)
        estimates = {name: fetch_estimate(collector, name, CONFIDENCE) for name in metrics}
    for name, metric in metrics.items():
        held, answer, mechanism = answers[name], estimates[name], metric.mechanism
        assert (answer["metric"], answer["version"], answer["reports"]) == (name, metric.version, DEVICES)
        assert isinstance(mechanism, NumericMechanism)
        # Bernstein's inequality for the mean of these people, with the noise of the worst answer: two means of 1e-8.
        variance, reach, sure = float(mechanism.worst_mean_variance), mechanism.reach[1], math.log(2 / 1e-8) / DEVICES
        margin = 100 * (math.sqrt(2 * variance * sure) + 2 * reach * sure / 3)
        assert margin < 12
        assert answer["mean"]["value"] == pytest.approx(held.mean(), abs=margin + 0.05)  # half a step at the most
        assert answer["mean"]["low"] < answer["mean"]["value"] < answer["mean"]["high"]
        quantiles = {one["share"]: one for one in answer["quantiles"]}
        for share in (0.5, 0.95):  # the interval is conservative for the people who reported, too
            true = float(np.quantile(held, share, method="inverted_cdf"))
            assert quantiles[share]["low"] <= true <= quantiles[share]["high"]
        assert quantiles[0.5]["high"] - quantiles[0.5]["low"] < 100, "all of the range would say nothing"


@pytest.mark.parametrize("name", MADE_UP)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_intervals_of_devices_draws_hold_the_truth(name: str, epsilon: float) -> None:
    """Each misses in 5 of 100, or fewer: 12 of 25 or more with a probability below 1e-8, so below 1e-6 in all."""
    column = MADE_UP[name]
    metric, true = metric_of(column, epsilon), truth(column)
    ends = np.array([run(metric, column, 4_000, seed) for seed in range(25)])
    held = ((ends[:, :, 0] <= true) & (true <= ends[:, :, 1])).sum(axis=0)
    assert (held >= 14).all(), held
    # At 4,000 reports they say something of the median, and the mean to a tenth of the range.
    widths = np.median(ends[:, :, 1] - ends[:, :, 0], axis=0)
    assert widths[0] < 10
    assert widths[1] < 50
