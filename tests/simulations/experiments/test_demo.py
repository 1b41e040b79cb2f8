"""The command ``dither-sim demo``: from answers on devices to a chart."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dither_shared import ParameterError, parse_metrics
from dither_simulations.collector import CollectorError, running_collector, send_all
from dither_simulations.experiments.demo.showing import drawn
from dither_simulations.experiments.demo.surveys import DemoSurvey, browser_survey, column_survey
from simulations.lab import lab

demo = partial(lab, "demo")


def column(folder: Path, answers: list[str], name: str = "job") -> DemoSurvey:
    path = folder / "people.csv"
    path.write_text("\n".join([name, *answers]) + "\n", encoding="utf-8")
    return column_survey(path, name)


@pytest.mark.usefixtures("_forked_collectors")
def test_demo_counts_every_answer_of_real_clients_and_draws_a_chart(tmp_path: Path) -> None:
    """Clients, HTTP, the collector process and its database are real. The test fails if a report is lost."""
    result = demo("--devices", "60", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.count(", 60 reports)") == 4
    assert "if your answer is yes, we see yes 75 times in 100; if it is no, 25 times" in result.stdout
    assert re.search(r"\d+ of the \d+ intervals shown contain the truth", result.stdout)
    table = result.stdout.partition("behind, versions")[2].splitlines()[2:5]
    assert [row.split()[0] for row in table] == ["mean", "p50", "p95"]
    for chart in ("mobile.png", "browser.png", "version.png", "behind.png"):
        assert (tmp_path / chart).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo.db").stat().st_size > 0


@pytest.mark.usefixtures("_forked_collectors")
def test_odd_answers_are_counted_despite_do_not_track_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers that are special in TOML, charts or terminals are counted like any other. The devices are simulated."""
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    odd = ['"quoted"', "back\\slash", "$x$^", "日本語", "a\x7fb", "\x1b[31mred"]
    path = tmp_path / "people.csv"
    path.write_text("job\n" + "\n".join('"' + value.replace('"', '""') + '"' for value in odd) + "\n", encoding="utf-8")
    assert set(column_survey(path, "job").metrics["job"].labels) == {*odd, "other"}
    result = demo("--input", path, "--column", "job")
    assert result.exit_code == 0, result.output
    assert ", 6 reports)" in result.stdout
    assert "\x1b" not in result.stdout
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("_forked_collectors")
def test_a_collector_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "metrics.toml"
    broken.write_text("[metrics.theme]\ntype = 'mood'\n")
    with pytest.raises(CollectorError, match=r"did not start: .*mood"), running_collector(broken, tmp_path):
        pass


def test_demo_without_http_repeats_its_counts_with_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("job\n" + "clerk\n" * 300 + "farmer\n" * 200)
    one, two = (demo("--input", path, "--column", "job", "--no-http", "--repeats", "3") for _ in "ab")
    assert one.exit_code == 0, one.output
    assert one.stdout == two.stdout
    assert len(one.stdout.splitlines()) == 4
    # Two intervals for each of three seeds: fewer than 1 of 6 contains the truth with probability 0.05^3, at most.
    held = re.search(r"in all: (\d) of 6", one.stdout)
    assert held is not None
    assert int(held[1]) >= 1


def test_people_are_drawn_from_the_table_with_the_seed() -> None:
    one, two, other = (browser_survey(500, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.people == two.people
    assert one.people != other.people
    assert len(one.people) == 500
    browser = one.truth("browser")
    # Chrome for Android has 45.1 % of the table: below 30 % of 500 with probability below 1e-11.
    assert browser.shares[browser.labels.index("Chrome for Android")] > 0.30
    assert browser.users == one.truth("version").users == one.truth("mobile").users == 500


def test_families_are_mobile_by_name_and_versions_behind_the_newer_ones_of_their_browser() -> None:
    people = browser_survey(20_000, np.random.default_rng(0)).people
    mobile = {str(person["browser"]) for person in people if person["mobile"]}
    assert len(mobile) == 8
    assert {"Chrome for Android", "Opera Mobile", "Safari on iOS", "Samsung Internet", "QQ Browser"} < mobile
    behind = {person["version"]: person["behind"] for person in people}
    assert [behind[f"Safari on iOS {version}"] for version in ("27.2", "27.0", "26.6", "18.5-18.7")] == [0, 1, 2, 9]
    assert (behind["Chrome for Android 157"], behind["Chrome 155"], behind["Chrome 109"]) == (0, 3, 49)


@pytest.mark.parametrize("high", [2.0, 64.0])
def test_truth_of_a_number_is_that_of_clipped_answers(high: float) -> None:
    """With almost no noise the estimate is the truth, also for clipped answers."""
    definition = f'[metrics.size]\ntype = "number"\nlow = 0\nhigh = {high}\nepsilon = 10\nunit = "kB"\n'
    people = tuple({"size": size} for size in [1.0] * 240 + [3.0] * 80 + [1000.0] * 80)
    survey = DemoSurvey(definition, parse_metrics(definition), people)
    answer = drawn(survey, "size", np.random.SeedSequence(0))
    expected = [0.6 * 1 + 0.2 * min(3.0, high) + 0.2 * high, 1, high]
    assert answer.rows.truth == pytest.approx(expected)
    assert answer.rows.estimate == pytest.approx(expected, rel=0.1)
    assert answer.rows.covered.all()
    assert answer.described()["values"][1].keys() == {"statistic", "truth", "estimate", "low", "high"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("answers", "counts"),
    [
        pytest.param(["b", "a", "b", '""'], {"b": 2, "(empty)": 1, "a": 1, "other": 0}, id="ties by name"),
        pytest.param(
            [f"{n:02}" for n in range(70) for _ in range(70 - n)],
            {**{f"{n:02}": 70 - n for n in range(63)}, "other": sum(range(1, 8))},
            id="beyond 63 values the rest is the catch-all",
        ),
        pytest.param(["other", "a", "other"], {"a": 1, "other": 2}, id="an answer called other is the catch-all"),
        pytest.param(["a"] * 3, {"a": 3, "other": 0}, id="a question needs two answers"),
    ],
)
def test_column_becomes_a_question_with_a_catch_all(tmp_path: Path, answers: list[str], counts: dict[str, int]) -> None:
    survey = column(tmp_path, answers, name="Job title (2020)")
    truth = survey.truth("job_title__2020_")
    assert survey.metrics["job_title__2020_"].mechanism.epsilon <= 1.0
    assert [*zip(truth.labels, truth.counts.tolist(), strict=True)] == [*counts.items()]


def test_column_with_one_answer_called_other_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at least 2"):
        column(tmp_path, ["other"] * 3)


def test_devices_whose_collector_is_gone_give_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_simulations.collector._PATIENCE", 0.05)
    survey = browser_survey(1000, np.random.default_rng(0))
    tried: list[int] = []
    assert not send_all(survey.metrics, "http://127.0.0.1:9", survey.people, workers=2, step=lambda: tried.append(1))
    assert len(tried) < 100
