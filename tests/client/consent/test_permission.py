"""Consent covers what was shown: who may overrule it, and what it does not cover."""

import dataclasses
import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dither
from client.devices import METRICS, MOBILE, THEME, Calendar, Make
from client.seals import KEY, KEYS, sealing
from dither.consent.permission import Policy, policy_path
from dither.consent.rules import automation_sign, terms
from dither_shared import ChoiceQuestion, Strata

if TYPE_CHECKING:
    from dither_shared import Metric

COMPLETE = dataclasses.replace(
    THEME, why="To choose", owner="ui@example.org", expires=date(2027, 6, 30), tier="technical"
)


def states(client: dither.Client) -> dict[str, str]:
    return {metric.name: metric.state for metric in client.status().metrics}


def test_every_ci_service_is_recognized_by_its_variable() -> None:
    names = (
        *("CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE"),
        *("CIRCLECI", "TRAVIS", "APPVEYOR", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "PYTEST_CURRENT_TEST"),
    )
    assert [automation_sign({name: "x"}) for name in names] == [f"{name} in the environment" for name in names]
    for environ in ({"CI": "False"}, {"CI": ""}, {"HOME": "/root"}):
        assert not automation_sign(environ)


@pytest.mark.parametrize(("environ", "mode"), [({"CI": "true"}, "off"), ({"CI": "true", "DITHER": "on"}, "on")])
def test_automated_machine_is_off_unless_turned_on(
    make: Make, folder: Path, environ: dict[str, str], mode: str
) -> None:
    client = make(folder, environ=environ, mode=None)
    client.record("mobile", True)
    assert client.status().mode == mode
    assert folder.exists() is (mode == "on")


def test_client_under_pytest_is_off_unless_an_environ_is_passed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {})  # the real environment may be that of a CI machine
    client = make(environ=None)
    assert client.status().mode == "off"
    assert client.status().decided_by.startswith("pytest is running")
    os.environ["DITHER"] = "on"
    assert client.status().mode == "on"
    del os.environ["DITHER"]
    monkeypatch.delitem(sys.modules, "pytest")
    assert client.status().mode == "on"
    assert "the user's choice" in client.status().decided_by


def test_the_administrators_policy_overrides_the_user(make: Make, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    client = make(policy=policy)
    assert client.status().mode == "on"
    policy.write_text('mode = "off"\n[apps.tests]\nmode = "local"\n')
    assert client.status().mode == "local"
    assert "policy" in client.status().decided_by
    deep, number, long = "a = " + "[" * 60_000, "a = " + "9" * 60_000, 'mode = "on"\n' + "#" * 70_000
    for text in ('mode = "of', "mode = 3", "apps = 3", '[apps]\ntests = "on"', 'mode = "ON"', deep, number, long):
        policy.write_text(text)
        assert make(policy=policy).status().mode == "off", text[:20]
    policy.write_text('[apps.another]\nmode = "off"\n')
    assert make(policy=policy).status().mode == "on"


def test_unreadable_policy_turns_telemetry_off(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").mkdir()
    assert Policy(tmp_path / "policy.toml", "tests").mode() == ""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert Policy(tmp_path / "loop", "tests").mode() == ""
    assert Policy(tmp_path / "nowhere", "tests").mode() is None
    assert Policy(None, "tests").mode() is None


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", "/etc/dither/policy.toml"),
        ("darwin", "/Library/Application Support/dither/policy.toml"),
        ("win32", "C:/ProgramData/dither/policy.toml"),
    ],
)
def test_the_policy_file_has_its_place_on_each_system(
    monkeypatch: pytest.MonkeyPatch, platform: str, place: str
) -> None:
    monkeypatch.delenv("PROGRAMDATA", raising=False)
    monkeypatch.setattr("sys.platform", platform)
    assert Path(policy_path()).as_posix() == place


@pytest.mark.parametrize("in_memory", [True, False])
def test_new_metric_stays_off_until_it_is_accepted(make: Make, folder: Path, in_memory: bool) -> None:
    state = dither.MemoryState() if in_memory else folder
    make(state, metrics={"mobile": MOBILE})
    client = make(state, metrics={"mobile": MOBILE, "theme": THEME}, mode=None)
    client.record("theme", "dark")
    client.record("mobile", True)
    assert states(client) == {"mobile": "collected", "theme": "not accepted"}
    assert client.pending() == ["theme"]
    assert client.status().queued == 1
    assert client.status().withheld == 1
    assert client.status().metrics[1].reports == 0
    assert "theme:" in client.consent_text(client.pending())
    client.consent("on", client.pending())
    client.record("theme", "dark")
    assert client.status().queued == 2
    assert client.pending() == []


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": METRICS["mobile"].mechanism, "question": ChoiceQuestion(("dark",))},
        {"period": "week"},
        {"description": "Another question?"},
        {"why": "To sell it"},
        {"owner": "ads@example.org"},
        {"expires": date(2029, 6, 30)},
        {"tier": "sensitive"},
        {"cap": 99.0},
        {"strata": Strata.of([("platform", ["linux"])])},
    ],
)
def test_changed_metric_needs_new_consent(make: Make, change: dict[str, object]) -> None:
    changed: Metric = dataclasses.replace(COMPLETE, **change)  # type: ignore[arg-type]
    assert terms(changed) != terms(COMPLETE)
    assert len(terms(COMPLETE)) == 16
    state = dither.MemoryState()
    make(state, metrics={"theme": COMPLETE})
    client = make(state, metrics={"theme": changed}, mode=None)
    client.record("theme", "dark")
    assert client.preview() == []
    assert states(client) == {"theme": "not accepted"}
    back = make(state, metrics={"theme": COMPLETE}, mode=None)
    back.record("theme", "dark")
    assert len(back.preview()) == 1


def test_the_day_of_acceptance_is_kept_and_off_forgets_it(make: Make, folder: Path, calendar: Calendar) -> None:
    make(folder, metrics={"mobile": MOBILE})
    first = calendar.day
    calendar.pass_days(3)
    client = make(folder, metrics={"mobile": MOBILE, "theme": THEME})
    assert [metric.since for metric in client.status().metrics] == [first, calendar.day]
    client.consent("off")
    assert [metric.since for metric in client.status().metrics] == [None, None]
    assert client.pending() == [], "a user who said no is not asked again"
    client.consent("on")
    assert [metric.since for metric in client.status().metrics] == [calendar.day, calendar.day]


def test_all_metrics_are_pending_until_the_user_decides(make: Make) -> None:
    assert make(mode=None).pending() == list(METRICS)
    assert make(mode=None, environ={"DITHER": "off"}).pending() == []


def test_expired_metric_is_not_pending(make: Make, calendar: Calendar) -> None:
    ending = {"theme": dataclasses.replace(THEME, expires=calendar.day)}
    state = dither.MemoryState()
    client = make(state, metrics=ending)
    client.record("theme", "dark")
    calendar.pass_days(1)
    client.record("theme", "dark")
    assert (client.status().queued, client.status().withheld) == (1, 1)
    assert states(client) == {"theme": "expired"}
    assert (client.pending(), "theme" in client.consent_text()) == ([], False)
    assert client.flush(60), "a report that was made in time is still delivered"
    dithered = make(metrics=ending, mode=None, environ={"DITHER": "on"})
    dithered.record("theme", "dark")
    assert dithered.preview() == []


def test_truncated_choice_covers_no_more_than_was_accepted(make: Make, folder: Path) -> None:
    make(folder, metrics={"mobile": MOBILE, "theme": THEME})
    whole = (folder / "consent").read_bytes()
    for length in range(0, len(whole), 2):
        (folder / "consent").write_bytes(whole[:length])
        client = make(folder, mode=None)
        assert set(states(client).values()) <= {"off", "not accepted", "collected"}
        assert states(client)["survey"] != "collected"
        assert (client.status().mode == "on") is (whole[:length].endswith(b"\n") and length > 0)


def test_consent_still_holds_if_reports_later_go_through_a_relay(make: Make, folder: Path) -> None:
    make(folder).close()
    for key in KEYS.values():
        client = make(folder, mode=None, seal=key)
        assert client.pending() == []
        assert {metric.since for metric in client.status().metrics} == {Calendar().day}


def test_consent_to_a_relay_does_not_cover_sending_without_it(make: Make, folder: Path) -> None:
    make(folder, seal=KEY).close()
    client = make(folder, mode=None)
    client.record("mobile", True)
    assert client.pending() == list(METRICS)
    assert (client.status().withheld, client.status().queued) == (1, 0)
    assert make(folder, mode=None, seal=KEYS["xwing"]).pending() == [], "another key needs no new consent"
    assert terms(MOBILE) != terms(sealing()["mobile"])
