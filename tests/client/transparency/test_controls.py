"""Texts for the user before consenting, and about what was sent."""

import dataclasses
import errno
import os
from datetime import date
from pathlib import Path

import pytest

import dither
from client.devices import BROWSER, METRICS, MOBILE, SURVEY, THEME, Calendar, Make, Script, parts_on
from dither.transparency.explain import catalogue, cost
from dither_shared import Batch
from dither_shared.languages import ENGLISH

COMPLETE = dataclasses.replace(
    THEME,
    description="Which theme?",
    why="To choose a default",
    owner="ui@example.org",
    expires=date(2027, 6, 30),
    tier="technical",
    cap=20.0,
)


def test_the_consent_text_says_who_asks_why_and_at_what_cost(make: Make) -> None:
    text = make(metrics={"theme": COMPLETE}, mode=None).consent_text()
    for said in (
        "tests would like",
        "1 question",
        "Which theme?",
        "To choose a default",
        "ui@example.org",
        "2027-06-30",
    ):
        assert said in text
    for said in ("the software itself", "at most once a day", "times in 100", "epsilon 1 for one report", "10 for 10"):
        assert said in text
    assert "never more than 20 in all" in text


def test_the_example_in_the_consent_text_is_a_valid_upload(make: Make, folder: Path) -> None:
    client = make(folder, mode=None)
    examples = [line for line in client.consent_text().splitlines() if "An upload, for example" in line]
    batches = [Batch.decode(line.partition(": ")[2].encode()) for line in examples]
    assert [batch.metric for batch in batches] == list(METRICS)
    assert [len(batch.reports) for batch in batches] == [metric.mechanism.row_bytes for metric in METRICS.values()]
    assert not folder.exists()


def test_the_cost_of_one_report_of_many_and_of_all_is_stated() -> None:
    mechanism = BROWSER.mechanism
    text = cost(BROWSER)
    for price in (mechanism.epsilon, mechanism.epsilon_after(10), mechanism.epsilon_after(100)):
        assert f"{price:.3g}" in text
    assert f"{mechanism.permanent_epsilon:.3g} in total" in text
    assert ENGLISH("cost.hides") in text
    assert ENGLISH("cost.hides") not in cost(MOBILE)
    assert cost(MOBILE) == "epsilon 1 for one report, 10 for 10, 100 for 100: each report costs the same again"
    assert cost(SURVEY) == "epsilon 1, once"


def test_the_status_has_the_privacy_loss_after_many_reports_and_of_all(make: Make) -> None:
    (browser,) = (metric for metric in make().status().metrics if metric.name == "browser")
    assert browser.epsilon_after == {many: BROWSER.mechanism.epsilon_after(many) for many in (10, 100)}
    assert browser.permanent_epsilon == BROWSER.mechanism.permanent_epsilon
    assert browser.epsilon < browser.epsilon_after[10] < browser.epsilon_after[100] <= (browser.permanent_epsilon or 0)


@pytest.mark.parametrize("in_memory", [True, False])
def test_last_thirty_sent_reports_are_kept_and_all_are_counted(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    state = dither.MemoryState() if in_memory else folder
    script = Script([400])
    client = make(state, transport=script)
    for _ in range(33):
        client.record("mobile", True)
        client.flush(60)
        calendar.pass_days(1)
    for again in (client, make(state)):
        assert again.sent() == script.bodies[-30:]
        assert (again.status().sent, again.status().dropped) == (32, 1)


@pytest.mark.parametrize("in_memory", [True, False])
def test_forget_leaves_only_the_choice(make: Make, folder: Path, calendar: Calendar, in_memory: bool) -> None:
    state = dither.MemoryState() if in_memory else folder
    client, other = make(state), make(state)
    client.record("browser", "firefox")
    assert in_memory or other.status().queued == 1
    client.forget()
    client.record("theme", "dark")
    assert client.status().trouble == {}
    assert (client.status().mode, client.status().queued, client.preview()) == ("off", 0, [])
    assert not any(metric.reports for metric in client.status().metrics)
    if not in_memory:
        assert {path.name for path in folder.iterdir()} == {"consent", "lock"}
        calendar.pass_days(1)
        other.consent("on")
        other.record("browser", "firefox")
        assert other.status().trouble, "a client that still has the old secret makes no new state"
    again = make(state)
    again.record("browser", "firefox")
    assert again.status().queued == 1
    assert again.status().trouble == {}


def test_running_client_takes_the_new_secret_after_forget(make: Make, folder: Path, calendar: Calendar) -> None:
    make(folder)  # the user consents here
    old, new = parts_on(folder, today=calendar), parts_on(folder, today=calendar)
    old.record("browser", "firefox")
    before = (folder / "secret").read_bytes()
    make(folder).forget()
    new.consent("on", None)
    new.record("theme", "dark")
    assert (folder / "secret").read_bytes() != before
    calendar.pass_days(1)
    old.record("browser", "firefox")
    tags = set()
    for parts in (old, new):
        with parts.journal.transaction():
            tags.add(parts.journal.keys().of(BROWSER).tag(b"x"))
    assert len(tags) == 1


def test_the_catalogue_is_markdown() -> None:
    odd = dataclasses.replace(COMPLETE, name="odd", why="a | b\n\\ c")
    text = catalogue([COMPLETE, odd])
    assert text.startswith(
        "# What is asked\n\n## theme\n\nWhich theme?\n\n| | |\n|---|---|\n| Why | To choose a default |\n"
    )
    assert "| Why | a \\| b \\\\ c |" in text
    assert f"| Mechanism | {COMPLETE.mechanism.name} |\n| Version | {COMPLETE.version} |" in text
    assert all(line.replace("\\|", "").count("|") == 3 for line in text.splitlines() if line.startswith("|"))


def test_consent_returns_whether_the_choice_was_stored(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(folder, strict=False, mode=None)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        assert client.consent("on") is False
    assert client.status().mode == "off"
    assert client.consent("on", ["nothing"]) is False, "an invalid choice stores nothing"
    assert client.consent("on") is True
    assert make(folder, mode=None).status().mode == "on"
    assert client.consent("off") is True
    disabled = dither.Client({}, "no address", "tests", state=folder, environ={})
    assert disabled.consent("on") is False
    assert make(folder, mode=None).status().mode == "off"


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "full")
