"""Strata of reports: where an attribute comes from, what is logged about it, and what does not depend on it."""

import dataclasses
from typing import Any

import pytest

import dither
from client.devices import BROWSER, METRICS, Calendar, Make
from dither.reporting.bodies import build
from dither.reporting.keys import Keys
from dither_shared import Batch, KeyedEntropy, Metric, Strata
from dither_shared.metrics.definition import parse_metrics
from shared import odd

PLATFORM = Strata.of([("platform", ["linux", "windows", "macos"])])
BOTH = Strata.of([("platform", ["linux", "windows"]), ("channel", ["stable", "beta"])])
STRATIFIED = {
    **METRICS,
    "theme": dataclasses.replace(METRICS["theme"], strata=PLATFORM),
    "browser": dataclasses.replace(BROWSER, strata=BOTH),
    "debug": dataclasses.replace(METRICS["mobile"], name="debug", strata=Strata.of([("debug", ["true", "false"])])),
}


def strata_of(client: dither.Client) -> list[str | None]:
    return [Batch.decode(body).stratum for body in client.preview()]


def stratified_client(make: Make, **other: Any) -> dither.Client:
    return make(metrics=STRATIFIED, **other)


def test_an_attribute_is_given_with_an_answer_or_once_for_all(make: Make) -> None:
    attributes = {"platform": "linux", "debug": True}
    client = stratified_client(make, strata=attributes)
    attributes["platform"] = "windows"
    client.record("theme", "dark", platform="macos")
    client.record("browser", "Firefox", channel="beta")
    client.record("mobile", True)
    client.record("debug", True)
    assert strata_of(client) == ["macos", "linux/beta", None, "true"]
    assert (client.status().trouble, client.status().unlisted) == ({}, {})


def test_a_value_that_is_not_listed_is_counted_and_logged_once(
    make: Make, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    client = stratified_client(make, strata={"platform": "Linux", "channel": "beta"})
    for _ in range(3):
        client.record("theme", "dark")
        client.record("browser", "Firefox")
        calendar.pass_days(1)
        assert len(caplog.messages) == 2, "on the first day"
    assert set(strata_of(client)) == {"other", "other/beta"}
    assert client.status().unlisted == {"metrics.theme.strata.platform": 3, "metrics.browser.strata.platform": 3}
    assert client.status().trouble == {}
    meant = """; did you mean 'linux'?; its reports go to "other\""""
    assert caplog.messages == [
        f"metrics.theme.strata.platform: a value that is not one of linux, windows, macos, other{meant}",
        f"metrics.browser.strata.platform: a value that is not one of linux, windows, other{meant}",
    ]
    client.record("browser", "Firefox", platform="Very-Secret", channel="beta")
    assert "Very-Secret" not in repr(client.status()) + caplog.text


def test_missing_attribute_is_logged_as_a_mistake(
    make: Make, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    client = stratified_client(make)
    for attributes in ({}, {"platform": None}, {"platform": ["linux"]}):
        client.record("theme", "dark", **attributes)
        calendar.pass_days(1)
    assert strata_of(client) == ["other"] * 3
    assert client.status().trouble == {"metrics.theme.strata.platform is not given": 3}
    assert client.status().unlisted == {"metrics.theme.strata.platform": 3}
    (message,) = caplog.messages
    assert message.endswith('its reports go to "other"; give record() platform=…, or the client strata=…')


def test_report_of_events_names_the_stratum_of_its_device(make: Make, calendar: Calendar) -> None:
    """Of a row that is drawn with each event, of a number that is kept until the period ends, and of one without."""
    metrics = parse_metrics("""[metrics]
crash = {type = "boolean", of = "any", epsilon = 20.0}
days = {type = "number", of = "count", epsilon = 20.0, low = 0, high = 9}
other = {type = "boolean", of = "any", epsilon = 20.0}
""")
    strata = {name: dataclasses.replace(metrics[name], strata=PLATFORM) for name in ("crash", "days")}
    client = make(metrics=metrics | strata, strata={"platform": "linux"})
    for name in metrics:
        client.add(name)
    calendar.pass_days(1)
    client.add("other")
    reports = [Batch.decode(body) for body in client.preview()]
    assert {report.metric: report.stratum for report in reports} == {"crash": "linux", "days": "linux", "other": None}


def test_undeclared_attribute_is_left_out_and_logged(
    make: Make, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    client = stratified_client(make, strict=False, strata={"platform": "linux"})
    for _ in range(2):
        client.record("mobile", True, **{"n" * 70: "Very-Secret"})
        client.record("theme", "dark", plattform="macos", user="Very-Secret")
        calendar.pass_days(1)
    assert strata_of(client) == [None, "linux"] * 2
    assert client.status().trouble == {
        "unknown attribute in metrics.mobile.strata": 2,
        "unknown attribute in metrics.theme.strata": 4,
    }
    mobile, theme = caplog.messages
    assert mobile.endswith(f".mobile.strata; {'n' * 64}: the metric does not declare it; declared here: nothing")
    assert theme.endswith(".theme.strata; plattform: the metric does not declare it; did you mean 'platform'?")


def test_strict_raises_for_an_attribute_that_is_not_declared(make: Make) -> None:
    client = stratified_client(make)
    for name, said in (
        ("plattform", "did you mean"),
        ("n" * 70, "declared here: platform"),
        ("plattform", "did you m"),
    ):
        problem = rf"^metrics\.theme\.strata\.{name[:64]}: the metric does not declare it; {said}"
        with pytest.raises(dither.ParameterError, match=problem):
            client.record("theme", "dark", **{name: "linux"})
    assert client.preview() == []


def test_an_attribute_of_the_client_serves_those_that_declare_it(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    mistaken = {"platform": "linux", "plattform": "linux", "user": "me"}
    client = stratified_client(make, strict=False, strata=mistaken)
    client.record("theme", "dark")
    client.record("mobile", True)
    assert strata_of(client) == ["linux", None]
    assert client.status().trouble == {"unknown attribute in strata": 2}
    assert caplog.messages == [
        "unknown attribute in strata; plattform: no metric of this client declares it; did you mean 'platform'?"
    ]
    with pytest.raises(dither.ParameterError, match=r"^strata\.plattform: no metric of this client declares it; did"):
        stratified_client(make, strata=mistaken)


class Loud(str):
    """A name that runs code of the app when it is compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


def test_names_of_attributes_run_no_code_of_the_app(make: Make) -> None:
    client = stratified_client(make, strata={Loud("platform"): "linux", Loud("debug"): "true"})
    client.record("theme", "dark")
    assert (strata_of(client), client.status().trouble) == (["linux"], {})


def test_any_object_as_attribute_gives_a_stratum(make: Make) -> None:
    for value in (*odd.TRUE, *odd.FALSE, *odd.NEITHER, *odd.NO_ANSWERS):
        for client in (stratified_client(make, strata={"platform": value}), stratified_client(make)):
            client.record("theme", "dark", platform=value)
            assert strata_of(client) == ["other"]
            assert sum(client.status().unlisted.values()) == 1


@pytest.mark.parametrize("name", ["theme", "browser"])
def test_row_is_the_same_draw_with_and_without_strata(name: str) -> None:
    def body(metric: Metric, stratum: str | None) -> Batch:
        entropy, keys = KeyedEntropy(b"a report"), Keys(bytes(32))
        return Batch.decode(build(metric, metric.item("dark"), keys, entropy, 1, local=False, stratum=stratum).body)

    metric = STRATIFIED[name]
    assert metric.strata is not None
    batches = [body(metric, stratum) for stratum in (None, *metric.strata.labels)]
    assert {batch.reports for batch in batches} == {batches[0].reports}
    assert [batch.stratum for batch in batches] == [None, *metric.strata.labels]


def test_timers_and_outcomes_pass_on_strata(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = stratified_client(make)

    @client.outcome("theme", ok="light", failed="dark", platform="macos")
    def work() -> None:
        pass

    work()
    client.timer("browser", platform="windows", channel="beta")(work)()
    assert strata_of(client) == ["macos", "windows/beta"]
    monkeypatch.setattr("dither.default._clients", [other := stratified_client(make)])
    with dither.outcome("debug", debug=True), dither.timer("theme", platform="linux"):
        dither.record("browser", "Firefox", channel="stable", platform="linux")
    assert strata_of(other) == ["linux/stable", "linux", "true"]
