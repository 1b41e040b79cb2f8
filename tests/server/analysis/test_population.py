"""The file of the population: what it may hold, and which weights follow."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_server.analysis.population import KnownPopulation, who_answered
from dither_shared import ParameterError, parse_metrics

METRICS = parse_metrics("""
[metrics.theme]
type = "boolean"
epsilon = 1.0
strata = {platform = ["linux", "windows"], channel = ["stable", "beta"]}

[metrics.plain]
type = "boolean"
epsilon = 1.0
""")
THEME, PLAIN = METRICS.values()
PLATFORM = {"linux": 0.2, "windows": 0.8}
MARGINS = {"platform": PLATFORM, "channel": {"stable": 0.9, "beta": 0.1}}


def reports(**cells: int) -> np.ndarray:
    """Return the reports of each cell of THEME; cells are named like linux_beta."""
    assert THEME.strata is not None
    return np.array([float(cells.get(label.replace("/", "_"), 0)) for label in THEME.strata.labels])


EVEN = reports(linux_stable=100, linux_beta=100, windows_stable=100, windows_beta=100)
JOINT = '[[joint]]\nattributes = ["platform", "channel"]\ncells = '
CELLS = {"linux/stable": 0.1, "linux/beta": 0.1, "windows/stable": 0.5, "windows/beta": 0.3}
TOGETHER = KnownPopulation.read({"joint": [{"attributes": ["platform", "channel"], "cells": CELLS}]})
ALONE = KnownPopulation.read({"margins": {"platform": PLATFORM}})


def by_label(shares: np.ndarray) -> dict[str, float]:
    assert THEME.strata is not None
    return dict(zip(THEME.strata.labels, shares.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "margins"),
        ("margins = 3", "margins"),
        ("[margins.platform]", "margins.platform"),
        *(
            (f"[margins.platform]\nlinux = {share}", "margins.platform.linux: not a share")
            for share in ("nan", "-0.1", f"1{'0' * 400}", "true", "{a = 1}")
        ),
        (f"[margins.platform]\nlinux = 1{'0' * 5000}", "too long to be read"),
        ("[margins.platform]\nlinux = 0.5\nwindows = 0.4", "add up to 0.9, not to 1"),
        ("[margins.platfrom]\nlinux = 0.5\nwindows = 0.5", "no metric declares platfrom; did you mean 'platform'?"),
        ("[margins.platform]\nlinus = 0.5\nwindows = 0.5", "no metric declares platform=linus; did you mean 'linux'?"),
        ("most_weight = inf\n[margins.platform]\nlinux = 1", "most_weight"),
        ("most_wieght = 2\n[margins.platform]\nlinux = 1", "did you mean 'most_weight'?"),
        ("source = 3\n[margins.platform]\nlinux = 1", "source"),
        ("joint = [3]", "joint[0]"),
        ('[[joint]]\nattributes = ["platform"]\ncells = {linux = 1}', "two attributes"),
        ('[[joint]]\nattributes = ["platform", "platform"]\ncells = {"linux/linux" = 1}', "twice"),
        (f"{JOINT}{{linux = 1}}", "not a value of each"),
        (
            f'{JOINT}{{"linux/beta" = 0.5, "windows/beta" = 0.5}}\n[margins.platform]\nlinux = 0.2\nwindows = 0.8',
            "linux is 0.5, and 0.2 in margins.platform",
        ),
        ("x = " + "[" * 100_000, "too long to be read"),
        ("not toml", "not TOML"),
    ],
)
def test_wrong_population_file_is_refused_with_the_position_of_the_error(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "population.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as raised:
        KnownPopulation.load(file, METRICS)
    assert str(raised.value).startswith(str(file))
    assert wrong in str(raised.value)


def test_population_file_that_is_too_long_or_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "population.toml"
    file.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ParameterError, match="longer than"):
        KnownPopulation.load(file, METRICS)
    file.write_bytes(b"\xff")
    with pytest.raises(ParameterError, match="not UTF-8"):
        KnownPopulation.load(file, METRICS)
    with pytest.raises(ParameterError, match="cannot be read"):
        KnownPopulation.load(tmp_path / "none.toml", METRICS)


def test_raked_shares_have_all_margins_and_the_odds_ratio_of_the_reports() -> None:
    counts = reports(linux_stable=400, linux_beta=100, windows_stable=50, windows_beta=50)
    found = by_label(KnownPopulation.read({"margins": MARGINS}).shares(THEME, counts))
    assert found["linux/stable"] + found["linux/beta"] == pytest.approx(0.2)
    assert found["linux/stable"] + found["windows/stable"] == pytest.approx(0.9)
    odds = found["linux/stable"] * found["windows/beta"] / found["linux/beta"] / found["windows/stable"]
    assert odds == pytest.approx(400 * 50 / 100 / 50)
    assert sum(found.values()) == pytest.approx(1)


def test_joint_shares_of_the_population_are_used_unchanged() -> None:
    found = by_label(TOGETHER.shares(THEME, EVEN))
    assert {label: share for label, share in found.items() if share} == pytest.approx(CELLS)


def test_a_metric_that_declares_only_some_attributes_of_a_joint_table_has_their_sums() -> None:
    metric = parse_metrics(
        '[metrics.x]\ntype = "boolean"\nepsilon = 1.0\nstrata = {platform = ["linux", "windows"]}\n'
    )["x"]
    assert TOGETHER.shares(metric, np.array([10.0, 10.0, 0.0])).tolist() == pytest.approx([0.2, 0.8, 0])


@pytest.mark.parametrize(
    ("document", "counts", "wrong"),
    [
        ({"margins": {"platform": PLATFORM}}, reports(linux_stable=9, linux_beta=9), "no report from windows"),
        ({"margins": {"platform": PLATFORM}}, reports(), "no report from linux"),
        ({"margins": {"platform": {"linux": 0.5, "other": 0.5}}}, EVEN, "lacks windows; give it 0"),
        ({"margins": MARGINS}, reports(linux_stable=99, windows_beta=99), "raking does not meet all margins"),
        ({"margins": MARGINS, "most_weight": 2}, reports(linux_stable=90, windows_stable=9, linux_beta=9), "2 is 2"),
    ],
)
def test_reports_that_cannot_be_weighted_are_refused(document: dict[str, Any], counts: np.ndarray, wrong: str) -> None:
    with pytest.raises(ParameterError) as raised:
        KnownPopulation.read(document).shares(THEME, counts)
    assert raised.value.place == "weighted"
    assert wrong in str(raised.value) or "would weigh" in str(raised.value)


def test_a_weight_above_the_bound_is_refused_and_says_which() -> None:
    counts = reports(linux_stable=9_500, windows_stable=500)
    with pytest.raises(ParameterError, match="a report from windows/stable would weigh 16, and most_weight is 10"):
        ALONE.shares(THEME, counts)
    raised = KnownPopulation.read({"margins": {"platform": PLATFORM}, "most_weight": 16})
    assert raised.shares(THEME, counts).max() == pytest.approx(0.8)


def test_a_metric_without_the_attributes_is_refused() -> None:
    with pytest.raises(ParameterError, match="plain declares none of the attributes of the population"):
        KnownPopulation.read({"margins": MARGINS}).shares(PLAIN, np.array([5.0]))


def test_reports_of_strata_outside_the_population_have_weight_zero() -> None:
    assert by_label(ALONE.shares(THEME, EVEN + reports(other_stable=50)))["other/stable"] == 0


def test_table_of_who_answered_compares_reports_with_the_population() -> None:
    counts = {("platform", "linux"): 30, ("platform", "windows"): 10, ("platform", "other"): 0}
    found = who_answered(ALONE, THEME, lambda *place: counts.get(place, 0))
    assert found == [("platform", [("linux", 0.75, 0.2), ("windows", 0.25, 0.8)])]
    assert who_answered(KnownPopulation.read({"margins": MARGINS}), PLAIN, lambda *_: 1) == []
