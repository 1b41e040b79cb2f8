"""The three ways to draw reports have one law: the sampler's, the device's, and that of clients and a collector."""

from pathlib import Path

import numpy as np
from click.testing import CliRunner
from scipy import stats

from dither_server.estimate import estimate
from dither_shared import Mechanism, load_metrics
from dither_simulations.cli import main
from dither_simulations.collecting import running_collector
from dither_simulations.devices import device_entropy, device_tally
from dither_simulations.naming import named
from dither_simulations.populations import Floats
from dither_simulations.remote import collected
from dither_simulations.samplers import sample_tally
from dither_simulations.sources import Distribution

ARGUMENTS = ("error", "--mechanism", "randomized-response", "--epsilon", "1.5", "-k", "5", "-n", "900")
POPULATION = Distribution().population(5, 900)


def symbols(mechanism: Mechanism, frequency: Floats) -> Floats:
    """Return how many reports show each symbol, which is where the frequencies came from."""
    p, q = float(mechanism.p), float(mechanism.q)
    counts = POPULATION.users * (q + frequency * (p - q))
    assert np.allclose(counts, np.rint(counts), atol=1e-6)
    return np.asarray(np.rint(counts))


def test_simulator_device_and_collector_agree(tmp_path: Path) -> None:
    """Chi-square over a table of three rows, at 1e-7.

    Each row is a sum of multinomials, one a value, whose covariance is at most that of one multinomial of their
    mixture: the statistic is stochastically smaller than chi-square, and the test fails less often than that.
    """
    lab = tmp_path / "lab.toml"
    told = CliRunner().invoke(main, [*ARGUMENTS, "--definitions", str(lab)])
    assert told.exit_code == 0, told.output
    mechanism = named("randomized-response", 5, 1.5)
    assert [metric.mechanism for metric in load_metrics(lab).values()] == [mechanism]

    rows = [
        sample_tally(mechanism, POPULATION, np.random.default_rng(1)).counts[0],
        device_tally(mechanism, POPULATION, device_entropy(np.random.SeedSequence(2))).counts[0],
    ]
    with running_collector(lab, tmp_path) as collector:
        url = f"{collector.url}/?token={collector.token}"
        sent = collected(mechanism, POPULATION, 1.5, url, 0.9)
        rows.append(symbols(mechanism, sent.frequency))
        again = CliRunner().invoke(main, [*ARGUMENTS, "--collector", url])
        other = CliRunner().invoke(main, [*ARGUMENTS, "--collector", url, "-k", "6"])
        closed = CliRunner().invoke(main, [*ARGUMENTS, "--collector", collector.url])
    assert stats.chi2_contingency(np.array(rows)).pvalue > 1e-7
    alone = estimate(mechanism, POPULATION.labels, sample_tally(mechanism, POPULATION, np.random.default_rng(1)))
    assert np.allclose(symbols(mechanism, alone.frequency), rows[0])
    assert again.exit_code == 1
    assert "has 900 reports; a trial begins with none" in again.stderr
    assert other.exit_code == 1
    assert "answers 404" in other.stderr
    assert closed.exit_code == 1
    assert "asks for a token; give its address with ?token=" in closed.stderr
    assert collector.token
    assert not any(collector.token in text for one in (again, other, closed) for text in (one.stdout, one.stderr))


def test_the_command_asks_a_collector(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    few = (*ARGUMENTS, "-n", "50", "--mechanism", "rappor")
    CliRunner().invoke(main, [*few, "--definitions", str(lab)])
    with running_collector(lab, tmp_path) as collector:
        url = f"{collector.url}/?token={collector.token}"
        result = CliRunner().invoke(main, [*few, "--collector", url])
    assert result.exit_code == 0, result.output
    assert [line.split()[:2] for line in result.stdout.splitlines()[2:]] == [
        ["randomized-response", "collector"],
        ["rappor", "collector"],
    ]


def test_nothing_that_answers_is_named() -> None:
    result = CliRunner().invoke(main, [*ARGUMENTS, "--collector", "http://127.0.0.1:9"])
    assert result.exit_code == 1
    assert "the collector at http://127.0.0.1:9 does not answer" in result.stderr


def test_a_collector_counts_one_trial() -> None:
    result = CliRunner().invoke(main, [*ARGUMENTS, "--collector", "http://127.0.0.1:9", "--repeats", "2"])
    assert result.exit_code == 2
    assert "--collector" in result.stderr
