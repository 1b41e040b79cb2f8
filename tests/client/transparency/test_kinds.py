"""Each kind of question as a user sees it, from the question to the upload, and lint's advice on it."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from client.devices import Calendar, Make
from dither import ParameterError
from dither import __main__ as program
from dither.cli.lint import lint
from dither.testing import Telemetry
from dither.transparency.explain import catalogue, reading
from dither_shared import Batch, KeyedEntropy, Report, parse_metrics

DEFINITION = """
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 1.0

[metrics.startup]
description = "How long does the app take to start?"
type = "number"
low = 0.05
high = 60.0
log = true
unit = "s"
epsilon = 1.0

[metrics.temperature]
type = "number"
low = -40
high = 60
unit = "°C"
epsilon = 1.0
permanent_epsilon = 2.0

[metrics.used]
description = "Which of these have you used this week?"
type = "selection"
values = ["export", "search", "print", "share"]
epsilon = 2.0

[metrics.liked]
type = "selection"
values = ["export", "search", "print", "share", "sync", "themes", "plugins", "fonts"]
at_most = 2
epsilon = 1.0
permanent_epsilon = 2.0

[metrics.crash]
description = "In which function did the app crash?"
type = "string"
discover = {alphabet = "a-z0-9._-", length = 12, fold = true}
epsilon = 1.0

[metrics.editor]
type = "string"
mechanism = "projective-count-mean-sketch"
epsilon = 1.0
permanent_epsilon = 2.0

[metrics.browser]
type = "string"
mechanism = "rappor"
epsilon = 1.0

[metrics.both]
description = "Which theme, where it failed?"
type = "cross"
cross = {theme = ["light", "dark"], failed = {type = "boolean"}}
epsilon = 1.0
"""
METRICS = parse_metrics(DEFINITION)
FITS = "a report fits your text 48 times in 100, any other text 25 times"
PAIR = "theme (light, dark, other) and failed (false, true), both in one report"


@pytest.fixture
def arguments(tmp_path: Path, folder: Path) -> list[str]:
    (tmp_path / "metrics.toml").write_text(DEFINITION, "utf-8")
    return ["--metrics", str(tmp_path / "metrics.toml"), "--app", "tests", "--state", str(folder)]


TEXTS: Mapping[str, tuple[str, ...]] = {
    "startup": (
        "How long does the app take to start?",
        "Answers: a number from 0.05 to 60 s",
        "your number is put into one of 3 ranges whose borders are chosen at random for each report",
        "in 58 of 100 cases the report names that range",
        "at most 2.72 times as sure of anything about your number",
        "It says: the number is ",
        "in 42 of 100 cases a report names a wrong range",
    ),
    "used": (
        "Which of these have you used this week?",
        "Answers: any of: export, search, print, share",
        "a report covers 2 of the 4 values, chosen at random for each report",
        "a value of yours is named 81 times in 100, one that is not yours 19 times",
        "at most 7.39 times as sure of anything about all your values together",
        "It says: it reports only on ",
    ),
    "liked": (
        "Answers: at most 2 of: export, search, print, share, sync, themes, plugins, fonts",
        "a value of yours is named 20 times in 100, one that is not yours 7.4 times",
        "7.39 times after any number of reports of the same values",
        "It says: it names ",
        "never more than ",
    ),
    "crash": (
        "In which function did the app crash?",
        "any text of up to 12 of the characters -.0-9_a-z (capitals count as small letters); a longer one is cut",
        "a report covers the beginning of your text, or of all of it",
        "at most 73 in 100 sure after one report",
        "It says: it reports on ",
        FITS,
    ),
    "both": (f"Answers: {PAIR}",),
}


@pytest.mark.parametrize("name", TEXTS)
def test_consent_text_says_what_an_answer_becomes(make: Make, name: str) -> None:
    text = make(metrics=METRICS, mode=None, entropy=KeyedEntropy(b"an example")).consent_text([name])
    assert [said for said in TEXTS[name] if said not in text] == []


def test_consent_text_does_not_explain_a_report_that_means_one_value(make: Make) -> None:
    assert "It says" not in make(metrics=METRICS, mode=None).consent_text(["theme"])


def test_waiting_reports_are_shown_with_their_meaning(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS)
    answers = {"theme": "dark", "startup": 1.7, "used": {"export", "print"}, "liked": [], "crash": "Main.Loop"}
    answers |= {"editor": "vim", "browser": "Chrome"}
    for name, answer in answers.items():
        client.record(name, answer)
    bodies = dict(zip(answers, client.preview(), strict=True))
    said = {name: client.explain(body) for name, body in bodies.items()}
    assert (said["theme"], said["browser"], said["editor"]) == ("", "", FITS)
    for name, start in (("startup", "the number is "), ("used", "it reports only on "), ("liked", "it names ")):
        assert said[name].startswith(start)
    assert said["crash"].endswith(FITS)
    crash = Batch.decode(bodies["crash"]).reports
    assert len(crash) == 3
    level = Report.decode(crash, METRICS["crash"].mechanism).cohort // 2
    assert ("all of the text" in said["crash"]) == (level >= 9)
    program.main(["preview", *arguments], environ={})
    lines = [line for name in answers for line in (bodies[name].decode(), f"    {said[name]}") if line.strip()]
    assert capsys.readouterr().out.splitlines() == lines
    assert (client.explain(b"{}"), client.explain(bodies["startup"][:-1])) == ("", "")
    other = parse_metrics(DEFINITION.replace("60.0", "61.0"))
    assert reading(other, bodies["startup"]) == "", "its borders are those of another version"


@pytest.mark.parametrize(
    ("name", "answer", "outside", "mistakes"),
    [
        ("startup", 1000, 1, 0),
        ("temperature", "hot", 1, 1),
        ("used", ["export", "scan"], 1, 0),
        ("liked", "export", 0, 1),
        ("crash", "main", 0, 0),
        ("crash", "a" * 13, 1, 0),
        ("crash", "a b", 1, 0),
        ("crash", "", 0, 0),
        ("crash", ["main"], 1, 1),
        ("both", {"theme": "dark"}, 1, 1),
        ("both", "no pair", 1, 1),
        *(("startup", number, number != 1.7 and number > 60, 0) for number in (2, np.int64(3), 10**400, float("inf"))),
        *(("startup", number, 0, 0) for number in (1.7, Decimal("1.7"), np.float32(1.7))),
    ],
)
def test_an_answer_that_does_not_fit_is_reported_and_counted(
    make: Make, name: str, answer: object, outside: int, mistakes: int
) -> None:
    client = make(metrics=METRICS, strict=False)
    client.record(name, answer)
    status = client.status()
    assert (status.queued, status.outside, status.mistakes) == (1, outside, mistakes)
    assert status.trouble == ({f"wrong value for metrics.{name}": 1} if mistakes else {})


MISTAKES = [
    *(("startup", value, "give an int, a float or a Dec") for value in ("1.7", None, True, float("nan"), [1.7])),
    ("startup", Decimal("nan"), "give an int, a float or a Dec"),
    *(
        ("used", value, "give a list, a tuple or a set")
        for value in (None, "export", {"export": True}, ["export", None])
    ),
    ("used", iter(["export"]), "give a list, a tuple or a set"),
    ("crash", ["main"], ""),
]


@pytest.mark.parametrize(("name", "value", "advice"), MISTAKES)
def test_a_mistake_names_the_type_and_not_the_value(make: Make, name: str, value: object, advice: str) -> None:
    said = rf"metrics\.{name}: {type(value).__name__} is not an answer.*{advice}"
    with pytest.raises(ParameterError, match=said):
        make(metrics=METRICS).record(name, value)


def test_mistake_in_a_crossing_names_the_valid_answers_of_both_axes(make: Make) -> None:
    with pytest.raises(ParameterError, match=r"by name, .*, or a pair of them, each a string, a number or a boolean"):
        make(metrics=METRICS).record("both", {"theme": None, "failed": True})


def test_a_crossing_is_one_report_of_both_answers(make: Make) -> None:
    client = make(metrics=METRICS)
    client.record("both", {"theme": "dark", "failed": True})
    client.record("both", ("light", False))
    (body,) = client.preview()
    assert Batch.decode(body).metric == "both"
    assert (client.status().ignored, client.status().mistakes, client.status().outside) == (1, 0, 0)


def test_the_status_states_odds_and_cost(
    arguments: list[str], make: Make, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = {metric.name: metric for metric in make(folder, metrics=METRICS).status().metrics}
    assert "borders are chosen at random for each report" in metrics["startup"].odds
    assert "borders are chosen at random once for this device" in metrics["temperature"].odds
    assert "never more than 6 in all" in metrics["temperature"].cost, "there are three ranges"
    assert metrics["used"].odds.startswith("a report covers 2 of the 4 values")
    assert metrics["crash"].permanent_epsilon is None
    assert metrics["editor"].permanent_epsilon == pytest.approx(2.0)
    program.main(["status", *arguments], environ={})
    shown = capsys.readouterr().out
    assert [name for name, metric in metrics.items() if metric.odds not in shown] == []


def test_the_catalogue_names_answers_and_mechanisms() -> None:
    text = catalogue(METRICS.values())
    assert "| Answers | a number from -40 to 60 °C |" in text
    assert "| Answers | any of: export, search, print, share |" in text
    assert PAIR in text
    for mechanism in ("dithered-response", "privset", "prefix-sketch", "projective-count-mean-sketch"):
        assert f"| Mechanism | {mechanism} |" in text


def test_a_selection_is_charged_once_in_whatever_order_it_is_given(
    make: Make, calendar: Calendar, folder: Path
) -> None:
    """One selection has one permanent draw; another selection has another."""
    client = make(folder, metrics={"liked": METRICS["liked"]})
    charges = []
    for answer in (["export", "fonts"], {"fonts", "export"}, ("fonts", "export", "fonts"), ["fonts", "sync"], ["sync"]):
        client.record("liked", answer)
        charges.append(client.status().metrics[0].spent / METRICS["liked"].charge)
        calendar.pass_days(1)
    assert charges == pytest.approx([1, 1, 1, 2, 3])


def test_test_fixture_returns_the_recorded_values_of_each_kind() -> None:
    telemetry = Telemetry(METRICS)
    values = ["export"]
    telemetry.record("used", values)
    values.append("search")
    telemetry.record("liked", frozenset({"sync"}))
    telemetry.record("crash", "main")
    assert telemetry.recorded("used") == [["export"]], "what it was when it was recorded"
    assert telemetry.recorded("liked") == [frozenset({"sync"})]
    assert telemetry.recorded("crash") == ["main"]
    assert telemetry.flush(60)
    assert telemetry.collector.counts() == {"used": 1, "liked": 1, "crash": 1}
    with pytest.raises(ParameterError, match="str is not an answer"):
        telemetry.record("used", "export")


WINDOWS = '[metrics.m]\ntype = "number"\nlow = 0\nhigh = 9\nepsilon = 1\n'
EIGHT = '[metrics.m]\ntype = "selection"\nvalues = ["a", "b", "c", "d", "e", "f", "g", "h"]\nepsilon = 1.0\n'
URL = (
    '[metrics.m]\ntype = "string"\ndiscover = {alphabet = "a-z0-9:/._-", length = 24}\nepsilon = 0.5\nperiod = "once"\n'
)
CROSS = '[metrics.m]\ntype = "cross"\ncross = {first = %s, second = {type = "boolean"}}\nepsilon = %s\n'


@pytest.mark.parametrize(
    ("definition", "places", "says"),
    [
        (WINDOWS, ["m.unit", "m.type"], 'type = "boolean"'),
        (WINDOWS, ["m.unit", "m.type"], 'type = "choice"'),
        (EIGHT, ["m.at_most"], ""),
        (EIGHT + "at_most = 2", [], ""),
        (EIGHT + "at_most = 8", [], ""),
        (URL, ["m.discover.fold", "m.discover.length"], ""),
        (CROSS % ('["light", "dark"]', 1.0), ["m.cross"], "6 pairs of answers need many reports at this epsilon"),
        (CROSS % ('{type = "boolean"}', 4.0), [], ""),
    ],
)
def test_lint_advises_on_each_kind_of_question(definition: str, places: list[str], says: str) -> None:
    common = {"description", "why", "owner", "tier", "expires", "cap"}
    advice = lint(parse_metrics(definition).values(), date(2026, 11, 20))
    advice = [line for line in advice if line.partition(":")[0].removeprefix("metrics.m.") not in common]
    assert [line.partition(":")[0].removeprefix("metrics.") for line in advice] == places
    assert says in "".join(advice)
