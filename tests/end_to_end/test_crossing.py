"""A crossing from real clients through a real collector to its answer, beside a survey that asks one of two."""

from pathlib import Path

import numpy as np

from dither_shared import parse_metrics
from dither_simulations.collection.collector_process import fetch_estimate, running_collector
from dither_simulations.collection.fleet import send_all

DEVICES, EPSILON, CONFIDENCE = 1_000, 6.0, 1 - 1e-8
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
"""
TRUE = np.array([[0.1, 0.3, 0.0], [0.5, 0.1, 0.0], [0.0, 0.0, 0.0]])


def test_crossings_and_surveys_come_out_of_the_collector(tmp_path: Path) -> None:
    """The noise and the draws are the operating system's: this fails by chance with a probability below 1e-6."""
    metrics, definition = parse_metrics(DEFINITION), tmp_path / "metrics.toml"
    definition.write_text(DEFINITION)
    themes, devices = ("light", "dark", "other"), ("phone", "desktop", "other")
    cells = np.random.default_rng(0).choice(9, DEVICES, p=TRUE.ravel())
    pairs = [(themes[cell // 3], devices[cell % 3]) for cell in cells]
    people = [{"theme": a, "device": b, "both": {"theme": a, "device": b}} for a, b in pairs]
    with running_collector(definition, tmp_path) as collector:
        assert send_all(metrics, collector.url, people)
        told = {name: fetch_estimate(collector, name, CONFIDENCE) for name in metrics}
    both = told["both"]
    assert (both["reports"], both["version"]) == (DEVICES, metrics["both"].version)
    held = np.bincount(cells, minlength=9) / DEVICES
    for row, share in zip(both["values"], held, strict=True):
        assert row["noise_low"] <= share <= row["noise_high"]
    table = held.reshape(3, 3)
    for one, shares in zip(both["marginals"], (table.sum(axis=1), table.sum(axis=0)), strict=True):
        assert one["axis"] in {"theme", "device"}
        for row, share in zip(one["values"], shares, strict=True):
            assert abs(row["frequency"] - share) < 0.2
            assert row["low"] <= share <= row["high"]
    (of_phone,) = (row for row in both["conditional"][0]["values"] if (row["given"], row["value"]) == ("phone", "dark"))
    assert of_phone["low"] <= TRUE[1, 0] / TRUE[:, 0].sum() <= of_phone["high"]
    # Each device answered one of the two: together all, and neither nearly all (beyond 650 with 1e-21).
    asked = told["theme"]["reports"], told["device"]["reports"]
    assert sum(asked) == DEVICES
    assert max(asked) < 650
