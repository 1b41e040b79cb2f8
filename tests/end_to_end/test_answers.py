"""From real clients through one real collector process to its answers: numbers, crossings and surveys.

The noise and the draws are the operating system's: a test here fails by chance with a probability below 1e-6.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dither
from benchmarks.numeric_devices import MADE_UP, metric_of, run, truth
from dither import __main__ as program
from dither_shared import parse_metrics
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_simulations.collector import Access, fetch_estimate
from server.collecting import running

DEVICES, EPSILON, CONFIDENCE = 300, 6.0, 1 - 1e-8

DEFINITION = f"""
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = {EPSILON}
one_of = "looks"

[metrics.device]
type = "choice"
values = ["phone", "desktop"]
epsilon = {EPSILON}
one_of = "looks"

[metrics.both]
type = "cross"
cross = ["theme", "device"]
epsilon = {EPSILON}

""" + "".join(
    f'[metrics.{name}]\ntype = "number"\nlow = {column.low}\nhigh = {column.high}\nepsilon = {EPSILON}\n'
    for name, column in MADE_UP.items()
)
METRICS = parse_metrics(DEFINITION)
THEMES, KINDS = ("light", "dark", "other"), ("phone", "desktop", "other")
SHARES = np.array([[0.1, 0.3, 0.0], [0.5, 0.1, 0.0], [0.0, 0.0, 0.0]])
"""Of people with each theme (rows) on each kind of device (columns)."""


class Fleet(NamedTuple):
    """The collector to which all devices have reported, its folder, and the answers of their people."""

    collector: Access
    folder: Path
    cells: "np.ndarray[Any, np.dtype[np.int64]]"
    numbers: dict[str, "np.ndarray[Any, np.dtype[np.float64]]"]


def report(url: str, answers: dict[str, object]) -> bool:
    client = dither.Client(METRICS, url, "answers", dither.MemoryState("on"), background=False, environ={})
    with closing(client):
        for name, answer in answers.items():
            client.record(name, answer)
        return client.flush(30.0)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder, rng = tmp_path_factory.mktemp("answers"), np.random.default_rng(0)
    cells = rng.choice(9, DEVICES, p=SHARES.ravel())
    numbers = {name: rng.choice(column.numbers, DEVICES, p=column.shares) for name, column in MADE_UP.items()}

    def send(number: int) -> bool:
        pair = {"theme": THEMES[cells[number] // 3], "device": KINDS[cells[number] % 3]}
        answers: dict[str, object] = {"both": pair, **pair}
        answers |= {name: float(held[number]) for name, held in numbers.items()}
        return report(url, answers)

    with running(folder, toml=DEFINITION) as (url, _):
        with ThreadPoolExecutor(32) as pool:
            assert all(pool.map(send, range(DEVICES)))
        yield Fleet(Access(url), folder, cells, numbers)


def test_a_crossing_estimates_pairs_and_the_marginals_of_both_questions(fleet: Fleet) -> None:
    both = fetch_estimate(fleet.collector, "both", CONFIDENCE)
    assert (both["reports"], both["version"]) == (DEVICES, METRICS["both"].version)
    held = np.bincount(fleet.cells, minlength=9) / DEVICES
    for row, share in zip(both["values"], held, strict=True):
        assert row["low"] <= share <= row["high"]
    table = held.reshape(3, 3)
    for one, shares in zip(both["marginals"], (table.sum(axis=1), table.sum(axis=0)), strict=True):
        assert one["axis"] in {"theme", "device"}
        for row, share in zip(one["values"], shares, strict=True):
            assert abs(row["frequency"] - share) < 0.2
            assert row["low"] <= share <= row["high"]
    verdicts = {row["verdict"] for condition in both["conditional"] for row in condition["values"]}
    assert verdicts == {"too-few"}, "shares within an answer take 1,000 reports"


def test_each_device_answers_one_question_of_a_survey(fleet: Fleet) -> None:
    """All devices answered one of them. One question gets 210 or more of 300 with a probability below 1e-11."""
    reports = [fetch_estimate(fleet.collector, name)["reports"] for name in ("theme", "device")]
    assert sum(reports) == DEVICES
    assert max(reports) < 210


@pytest.mark.parametrize("name", MADE_UP)
def test_intervals_of_mean_and_quantiles_contain_the_truth(fleet: Fleet, name: str) -> None:
    metric, held, answer = METRICS[name], fleet.numbers[name], fetch_estimate(fleet.collector, name, CONFIDENCE)
    mechanism = metric.mechanism
    assert (answer["metric"], answer["version"], answer["reports"]) == (name, metric.version, DEVICES)
    assert isinstance(mechanism, NumericMechanism)
    # Bernstein's inequality for the mean of these people, with the noise of the worst answer: two means of 1e-8.
    variance, reach, sure = float(mechanism.worst_mean_variance), mechanism.reach[1], math.log(2 / 1e-8) / DEVICES
    margin = 100 * (math.sqrt(2 * variance * sure) + 2 * reach * sure / 3)
    assert margin < 12
    assert answer["mean"]["value"] == pytest.approx(held.mean(), abs=margin + 0.05)  # half a step at the most
    assert answer["mean"]["low"] < answer["mean"]["value"] < answer["mean"]["high"]
    quantiles = {row["share"]: row for row in answer["quantiles"]}
    for share in (0.5, 0.95):  # the interval is conservative for the people who reported, too
        true = float(np.quantile(held, share, method="inverted_cdf"))
        assert quantiles[share]["low"] <= true <= quantiles[share]["high"]
    assert quantiles[0.5]["high"] - quantiles[0.5]["low"] < 100, "all of the range would say nothing"


@pytest.mark.parametrize(("name", "epsilon"), [("age", 1.0), ("hours", 4.0)])
def test_intervals_from_reports_of_real_clients_contain_the_truth(name: str, epsilon: float) -> None:
    """Each misses in at most 5 of 100: 12 of 25 or more with a probability below 1e-8, so below 1e-6 in all."""
    column = MADE_UP[name]
    metric, true = metric_of(column, epsilon), truth(column)
    ends = np.array([run(metric, column, 4_000, seed) for seed in range(25)])
    held = ((ends[:, :, 0] <= true) & (true <= ends[:, :, 1])).sum(axis=0)
    assert (held >= 14).all(), held
    # At 4,000 reports they say something of the median, and the mean to a tenth of the range.
    widths = np.median(ends[:, :, 1] - ends[:, :, 0], axis=0)
    assert widths[0] < 10
    assert widths[1] < 50


def test_the_command_test_names_metrics_that_a_collector_would_not_count(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    definition, newer = fleet.folder / "metrics.toml", fleet.folder / "newer.toml"
    newer.write_text(definition.read_text().rstrip().removesuffix(str(EPSILON)) + "5.0\n")
    assert program.main(["test", "--endpoint", fleet.collector.url, "--metrics", str(definition)]) == 0
    assert "FAILED" not in capsys.readouterr().out
    assert program.main(["test", "--endpoint", fleet.collector.url, "--metrics", str(newer)]) == 1
    assert f"Reports of 1 of {len(METRICS)} metrics would not be counted." in capsys.readouterr().out
