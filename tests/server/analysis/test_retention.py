"""Retention: aligned windows of calendar weeks, unbiased counts, and intervals with the stated errors."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import pytest

from dither_server.analysis.retention import RETAINED, Week, retained
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

MONDAY = date(2026, 6, 1)


def kept(values: Sequence[str] = ("0", "1"), more: str = "truth = 0.75") -> Metric:
    listed = ", ".join(f'"{value}"' for value in values)
    return parse_metrics(
        f'[metrics.kept]\ntype = "choice"\nvalues = [{listed}]\nof = "weeks-since-first-use"\nperiod = "week"\n{more}'
    )["kept"]


def expected(metric: Metric, devices: Sequence[int]) -> Tally:
    """Return the expected tally of randomized response for this number of devices of each listed age."""
    p, q, n = metric.mechanism.p, metric.mechanism.q, sum(devices)
    counts = [p * one + q * (n - one) for one in devices]
    assert all(count.denominator == 1 for count in counts)
    return Tally(np.array([n]), np.array([[int(count) for count in counts]]))


def weeks(metric: Metric, devices: Mapping[int, Sequence[int]]) -> list[Week]:
    return [Week(MONDAY + timedelta(days=7 * at), expected(metric, some)) for at, some in devices.items()]


def rows(metric: Metric, weeks_found: Sequence[Week], since: date | None = None) -> list[dict[str, float]]:
    return retained(metric, weeks_found, since, 0.95).rows()


def test_last_week_is_the_catch_all_so_that_no_answer_is_wasted() -> None:
    assert kept(("0", "4"), "epsilon = 2.0").labels == ("0", "4")
    assert kept(("0", "4"), 'other = "more"\nepsilon = 2.0').labels == ("0", "4", "more")


def test_devices_of_a_week_are_compared_with_those_that_began_as_many_weeks_before() -> None:
    metric = kept(("0", "1", "3"), "truth = 0.5")
    # week 0: 400 begin; week 1: 800 begin, 200 of 400 are back; weeks 3 and 4: 40 of the 400, and 200 of the 800
    weeks_found = weeks(metric, {0: (4000, 0, 0), 1: (8000, 2000, 0), 3: (0, 0, 400), 4: (1000, 0, 2000)})
    first, second, third = rows(metric, weeks_found)
    assert [row["week"] for row in (first, second, third)] == [0, 1, 3]
    assert (first["retention"], first["low"], first["high"], first["noise_error"]) == (1, 1, 1, 0)
    assert first["devices"] == pytest.approx(13_000)
    # Nobody of week 1 reported in week 2, which has no report at all; 1,000 began in the last week.
    assert (second["weeks"], third["weeks"]) == (4, 2)
    assert [second["devices"], second["began"]] == pytest.approx([2000, 12_000])
    assert [third["devices"], third["began"]] == pytest.approx([2400, 12_000])
    assert third["retention"] == pytest.approx(0.2)
    later = rows(metric, weeks_found, since=MONDAY + timedelta(days=22))  # weeks from the 4th on are numerators
    assert [later[2]["devices"], later[2]["began"], later[2]["weeks"]] == pytest.approx([2000, 8000, 1])


def test_retention_errors_match_the_enumerated_law_of_every_report() -> None:
    """Var of N_1 - r N_0 is a sum over reports: each is enumerated, with its weight in one window or both."""
    metric = kept()
    devices = {0: (40_000, 0), 1: (20_000, 12_000), 2: (8000, 4000)}
    _, row = rows(metric, weeks(metric, devices))
    began, back = 60_000, 16_000
    ratio = back / began
    assert row["retention"] == pytest.approx(ratio)
    p, q = 0.75, 0.25
    variance = 0.0
    for week, some in devices.items():
        for age, people in enumerate(some):
            law = []
            for symbol in (0, 1):
                score = [((symbol == value) - q) / (p - q) for value in (0, 1)]
                weight = (week >= 1) * score[1] - (week <= 1) * ratio * score[0]
                law.append((p if symbol == age else q, weight))
            mean = sum(chance * weight for chance, weight in law)
            variance += people * sum(chance * (weight - mean) ** 2 for chance, weight in law)
    assert row["noise_error"] == pytest.approx(math.sqrt(variance) / began, rel=1e-9)
    sampled = variance + began * ratio * (1 - ratio)
    assert row["standard_error"] == pytest.approx(math.sqrt(sampled) / began, rel=1e-9)


def test_ends_of_the_retention_interval_lie_z_errors_from_the_ratio() -> None:
    """Fieller's sets: at an end r, |x - r y| is z times its standard error, of noise alone or of people as well."""
    metric = kept()
    _, row = rows(metric, weeks(metric, {0: (40_000, 0), 1: (1200, 12_000)}))
    x, y, z = 12_000, 40_000, 1.959964
    v_0, v_f = metric.mechanism.variance(0), metric.mechanism.variance(1) - metric.mechanism.variance(0)
    v_x, v_y = 12_000 * (v_0 + v_f) + 1200 * v_0, 40_000 * (v_0 + v_f)
    for prefix, people in (("noise_", 0), ("", 1)):
        for side in ("low", "high"):
            r = row[f"{prefix}{side}"]
            spread = v_x + r**2 * v_y + people * y * r * (1 - r)
            assert abs(x - r * y) == pytest.approx(z * math.sqrt(spread), rel=1e-5)


def test_retention_intervals_cover_as_often_as_stated() -> None:
    """Over 400 surveys 95% has a standard error of 1.1 points; 5.2 of them are exceeded once in 5 million."""
    ages, stay, surveys, newcomers = (0, 1, 3), 0.9, 400, 6_000
    metric, rng, held = kept(list(map(str, ages)), "epsilon = 2.0"), np.random.default_rng(34), np.zeros(2)
    for _ in range(surveys):
        began = rng.poisson(newcomers, 6)
        weeks_found, kept_of = [], 0
        for week in range(6):
            devices = [
                (began[week] if not age else rng.binomial(began[week - age], stay**age)) if age <= week else 0
                for age in ages
            ]
            kept_of += devices[1]
            tally = sample_tally(metric.mechanism, Population(metric.labels, np.array(devices)), rng)
            weeks_found.append(Week(MONDAY + timedelta(days=7 * week), tally))
        row = rows(metric, weeks_found)[1]
        share = kept_of / began[:-1].sum()
        held += (row["low"] <= stay <= row["high"], row["noise_low"] <= share <= row["noise_high"])
    assert np.abs(held / surveys - 0.95) == pytest.approx(0, abs=5.2 * math.sqrt(0.95 * 0.05 / surveys))


def test_retention_of_too_few_devices_has_no_number() -> None:
    metric = kept()
    for weeks_found in ([], weeks(metric, {0: (4, 4), 1: (4, 4)})):
        row = rows(metric, weeks_found)[1]
        assert [row[name] for name in ("retention", "low", "high", "noise_error", "standard_error")] == [None] * 5
    (only, _) = rows(metric, weeks(metric, {0: (4000, 0)}))
    assert only["retention"] == 1
    assert rows(metric, weeks(metric, {0: (4000, 0)}))[1]["weeks"] == 0


def test_noise_that_changes_hardly_any_report_has_no_interval() -> None:
    """Of 95% normal intervals of 300 reports at ε = 8, 87 to 94% held."""
    metric = kept(more="epsilon = 8.0")
    tallies = (Tally(np.array([sum(ages)]), np.array([ages])) for ages in ((100, 0), (0, 60)))
    _, row = rows(metric, [Week(MONDAY + timedelta(days=7 * at), tally) for at, tally in enumerate(tallies)])
    assert {row["noise_low"], row["noise_high"]} == {None}
    assert row["noise_error"] < 0.02 < row["retention"] - row["low"]


def test_retention_answer_has_its_declared_columns() -> None:
    metric = kept()
    table = retained(metric, weeks(metric, {0: (4000, 0), 1: (0, 400)}), None, 0.9)
    assert list(table.columns) == [column.name for column in RETAINED]
    assert table.about == {
        "metric": "kept",
        "version": metric.version,
        "reports": 4400,
        "confidence": 0.9,
        "since": "2026-06-01",
        "until": "2026-06-14",
    }


def test_metrics_without_retention_are_refused() -> None:
    plain = parse_metrics('[metrics.theme]\ntype = "choice"\nvalues = ["0", "1"]\nepsilon = 1.0')["theme"]
    with pytest.raises(
        ParameterError, match='theme: has no retention; only a metric with of = "weeks-since-first-use" does'
    ):
        rows(plain, [])
    part = kept(("0", "1", "2"), 'mechanism = "bit-flip"\nbits = 2\nepsilon = 2.0')
    with pytest.raises(ParameterError, match='kept: has no retention with bit-flip; set mechanism = "auto"'):
        rows(part, [])
