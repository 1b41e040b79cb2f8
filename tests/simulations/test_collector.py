"""The three ways to draw reports have one law: the sampler's, the device's, and that of clients and a collector."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import Mechanism, load_metrics
from dither_simulations import collector as remote
from dither_simulations.collector import collected, metric_of, running_collector
from dither_simulations.mechanism_by_name import named
from dither_simulations.samplers import sample_tally
from dither_simulations.samplers.devices import device_entropy, device_tally
from dither_simulations.users.populations import Distribution, Floats
from simulations.lab import lab

ARGUMENTS = ("error", "--mechanism", "randomized-response", "--epsilon", "1.5", "-k", "5", "-n", "400")
RAPPOR = ("error", "--mechanism", "rappor", "--epsilon", "1.5", "-k", "5", "-n", "50")
POPULATION = Distribution().population(5, 400)
SIX = metric_of(named("randomized-response", 6, 1.5), Distribution().population(6, 400), 1.5)


def symbols(mechanism: Mechanism, frequency: Floats) -> Floats:
    """Return how many reports show each symbol, which is where the frequencies came from."""
    p, q = float(mechanism.p), float(mechanism.q)
    counts = POPULATION.users * (q + frequency * (p - q))
    assert np.allclose(counts, np.rint(counts), atol=1e-6)
    return np.asarray(np.rint(counts))


@pytest.mark.usefixtures("_forked_collectors")
def test_simulator_device_and_collector_agree(tmp_path: Path) -> None:
    """Chi-square over a table of three rows, at 1e-7.

    Each row is a sum of multinomials, one a value, whose covariance is at most that of one multinomial of their
    mixture: the statistic is stochastically smaller than chi-square, and the test fails less often than that.
    """
    definitions = tmp_path / "lab.toml"
    defined = lab(*ARGUMENTS, "--mechanism", "rappor", "--definitions", str(definitions))
    assert defined.exit_code == 0, defined.output
    mechanism, sketch = (metric.mechanism for metric in load_metrics(definitions).values())
    assert (mechanism, sketch.name) == (named("randomized-response", 5, 1.5), "rappor")

    rows = [
        sample_tally(mechanism, POPULATION, np.random.default_rng(1)).counts[0],
        device_tally(mechanism, POPULATION, device_entropy(np.random.SeedSequence(2))).counts[0],
    ]
    with running_collector(definitions, tmp_path) as collector:
        url = f"{collector.url}/?token={collector.token}"
        sent = collected(mechanism, POPULATION, 1.5, url, 0.9)
        rows.append(symbols(mechanism, sent[0]))
        again = lab(*ARGUMENTS, "--collector", url)
        other = lab(*ARGUMENTS, "--collector", url, "-k", "6")
        closed = lab(*ARGUMENTS, "--collector", collector.url)
        result = lab(*RAPPOR, "--collector", url)
    assert stats.chi2_contingency(np.array(rows)).pvalue > 1e-7
    alone = estimate(mechanism, POPULATION.labels, sample_tally(mechanism, POPULATION, np.random.default_rng(1)))
    assert np.allclose(symbols(mechanism, alone.frequency), rows[0])
    assert again.exit_code == 1
    assert "has 400 reports; a trial must begin with none" in again.stderr
    assert other.exit_code == 1
    assert f"lab-randomized-response-6-1.5: randomized-response, 6 values, version {SIX.version}" in other.stderr
    assert "1 of 1 metric asked for" in other.stderr
    assert "--definitions lab.toml" in other.stderr
    assert "--collector auto" in other.stderr
    assert result.exit_code == 0, result.output
    assert [line.split()[:2] for line in result.stdout.splitlines()[2:]] == [["rappor", "collector"]]
    assert closed.exit_code == 1
    assert "asks for a token; give its address with ?token=" in closed.stderr
    assert collector.token
    assert not any(collector.token in text for one in (again, other, closed) for text in (one.stdout, one.stderr))


def test_address_of_a_collector_that_does_not_answer_is_named() -> None:
    result = lab(*ARGUMENTS, "--collector", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "the collector at http://127.0.0.1:9 does not answer" in result.stderr


@pytest.mark.slow  # starts a laboratory and a collector
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed in /proc")
def test_sigterm_ends_the_collector_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dither_simulations", *ARGUMENTS, "-n", "1e5", "--collector", "auto"]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        children, deadline = Path(f"/proc/{process.pid}/task/{process.pid}/children"), time.monotonic() + 60
        while not list(tmp_path.glob("dither-lab-*/demo.db")):
            assert time.monotonic() < deadline
            with pytest.raises(subprocess.TimeoutExpired):  # it runs, and takes the processor that looking would take
                process.wait(0.05)
        (collector,) = map(int, children.read_text().split())
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{collector}").exists()
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_many_metrics_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_got", lambda *_: (404, b'{"type": "urn:dither:problem:unknown-metric"}'))
    result = lab(*ARGUMENTS, "--epsilon", "grid", "--collector", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "does not collect 10 of 10 metrics asked for" in result.stderr
    assert result.stderr.count("  lab-randomized-response-5-") == 5
    assert "  and 5 more" in result.stderr
