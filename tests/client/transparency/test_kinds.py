"""Each kind of question, and what is sent in the clear with it, as a user sees it from the question to the upload."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from client.devices import Make
from dither import ParameterError
from dither import __main__ as program
from dither.transparency.explain import catalogue, reading
from dither_shared import Batch, KeyedEntropy, Report, parse_metrics

DEFINITION = """
[metrics]
theme = {type = "choice", values = ["light", "dark"], epsilon = 1.0}
temperature = {type = "number", low = -40, high = 60, unit = "°C", epsilon = 1.0, permanent_epsilon = 2.0}
editor = {type = "string", mechanism = "projective-count-mean-sketch", epsilon = 1.0, permanent_epsilon = 2.0}
both = {type = "cross", cross = {theme = ["light", "dark"], failed = {type = "boolean"}}, epsilon = 1.0}

[metrics.startup]
description = "How long does the app take to start?"
type = "number"
low = 0.05
high = 60.0
log = true
unit = "s"
epsilon = 1.0

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
        "your number is put into one of 3 ranges whose borders are chosen at random for each report",
        "at most 2.72 times as sure of anything about your number",
        "It says: the number is ",
        "in 42 of 100 cases a report names a wrong range",
    ),
    "used": (
        "Answers: any of: export, search, print, share",
        "a report covers 2 of the 4 values, chosen at random for each report",
        "a value of yours is named 81 times in 100, one that is not yours 19 times",
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
        "any text of up to 12 of the characters -.0-9_a-z (capitals count as small letters); a longer one is cut",
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
    assert ("It says" in text) == (name != "both"), "a pair means itself"


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("startup", None, "give an int, a float or a Dec"),
        ("used", "export", "give a list, a tuple or a set"),
        ("both", {"theme": None, "failed": True}, r"by name, .*, or a pair of them, each a string, a number or a bool"),
    ],
)
def test_a_mistake_names_the_type_and_not_the_value(make: Make, name: str, value: object, advice: str) -> None:
    said = rf"metrics\.{name}: {type(value).__name__} is not an answer.*{advice}"
    with pytest.raises(ParameterError, match=said):
        make(metrics=METRICS).record(name, value)


def test_waiting_reports_are_shown_with_their_meaning(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS)
    answers = {"theme": "dark", "startup": 1.7, "used": {"export", "print"}, "liked": [], "crash": "Main.Loop"}
    answers |= {"editor": "vim"}
    for name, answer in answers.items():
        client.record(name, answer)
    bodies = dict(zip(answers, client.preview(), strict=True))
    said = {name: client.explain(body) for name, body in bodies.items()}
    assert (said["theme"], said["editor"]) == ("", FITS)
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


TOML = """
[metrics.theme]
description = "Which theme?"
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
strata = {platform = ["linux", "windows"], channel = ["stable", "beta"]}

[metrics]
startup = {type = "number", low = 0, high = 10, unit = "s", epsilon = 1.0, strata = {platform = ["linux", "windows"]}}
mobile = {type = "boolean", epsilon = 1.0}
"""
STRATIFIED = parse_metrics(TOML)
CLEAR = "Sent in the clear, not changed at random: platform (linux, windows or other), channel (stable, beta or other)"


def examples(text: str) -> list[Batch]:
    lines = [line for line in text.splitlines() if "An upload, for example" in line]
    return [Batch.decode(line.partition(": ")[2].encode()) for line in lines]


def test_consent_text_names_the_attributes_sent_in_the_clear(make: Make) -> None:
    text = make(metrics=STRATIFIED, mode=None, strata={"channel": "beta"}).consent_text()
    head, theme, startup, mobile = text.split("\n\n")
    assert "What is sent in the clear is not changed." in head
    assert CLEAR in theme
    assert "Sent in the clear, not changed at random: platform (linux, windows or other)\n" in startup
    assert "n the clear" not in mobile
    assert "It says: in the clear: platform linux, channel beta" in theme
    assert "; in the clear: platform linux" in startup
    assert [batch.stratum for batch in examples(text)] == ["linux/beta", "linux", None]


def test_the_example_has_the_stratum_of_this_device(make: Make) -> None:
    client = make(metrics=STRATIFIED, mode=None, strata={"platform": "plan9", "channel": "stable"})
    assert [batch.stratum for batch in examples(client.consent_text())] == ["other/stable", "other", None]
    assert client.status().unlisted == {}, "an example is no report"


def test_consent_text_without_strata_mentions_no_attribute_in_the_clear(make: Make) -> None:
    client = make(metrics=METRICS, mode=None)
    assert "in the clear" not in client.consent_text() + catalogue(METRICS.values())
    assert {metric.in_the_clear for metric in client.status().metrics} == {""}


def test_the_status_names_strata_as_sent_in_the_clear(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(arguments[1]).write_text(TOML, "utf-8")
    assert program.main(["status", *arguments], environ={}) == 0
    assert f"    {CLEAR[0].lower()}{CLEAR[1:]}\n" in capsys.readouterr().out
    assert program.main(["status", *arguments, "--json"], environ={}) == 0
    assert '"in_the_clear": "platform (linux, windows or other)"' in capsys.readouterr().out


def test_a_preview_names_the_stratum(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(arguments[1]).write_text(TOML, "utf-8")
    client = make(folder, metrics=STRATIFIED, strata={"platform": "windows"})
    client.record("theme", "dark", channel="beta")
    client.record("mobile", True)
    theme, mobile = (body.decode() for body in client.preview())
    assert program.main(["preview", *arguments], environ={}) == 0
    assert capsys.readouterr().out == f"{theme}\n    in the clear: platform windows, channel beta\n{mobile}\n"
    assert program.main(["preview", *arguments[2:]], environ={}) == 0, "without the questions"
    assert capsys.readouterr().out == f"{theme}\n    in the clear: windows/beta\n{mobile}\n"


def test_preview_shows_the_meaning_and_the_stratum_of_a_number_together(make: Make) -> None:
    client = make(metrics=STRATIFIED)
    client.record("startup", 3, platform="linux")
    (body,) = client.preview()
    assert client.explain(body).endswith("; in the clear: platform linux")
    assert reading(STRATIFIED, body.replace(b"linux", b"linu")).endswith("; in the clear: platform linu")
