"""The client for an app's tests, and its collector."""

import dataclasses
from contextlib import suppress
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Make
from client.seals import KEY, sealing, take_package
from dither.testing import FakeCollector, Telemetry
from dither_shared import Batch, Metric, RandomizedResponse, Strata, parse_metrics
from dither_shared.metrics.metric import Survey

PLATFORM = Strata.of([("platform", ["linux", "mac"])])
OTHER = Metric("mobile", METRICS["theme"].question, RandomizedResponse.calibrate(4, 2.0))


@pytest.fixture(name="dither_metrics")
def _own_metrics() -> dict[str, Metric]:
    return METRICS


def test_fixture_returns_the_recorded_answers(telemetry: Telemetry) -> None:
    telemetry.record("theme", "dark")
    telemetry.record("theme", "light")
    telemetry.record("mobile", True)
    assert telemetry.recorded("theme") == ["dark", "light"]
    assert telemetry.recorded("mobile") == [True]
    assert telemetry.recorded("editor") == []
    assert telemetry.status().mode == "on"
    assert telemetry.collector.bodies == [], "nothing is sent until the test says so"
    assert telemetry.flush(60)
    assert telemetry.collector.counts() == {"theme": 1, "mobile": 1}
    assert len(telemetry.collector.reports("theme")) == 1


def test_fixture_returns_a_selection_as_it_was_when_it_was_recorded() -> None:
    definition = '[metrics.used]\ntype = "selection"\nvalues = ["export", "search"]\nepsilon = 1.0\n'
    telemetry, values = Telemetry(parse_metrics(definition)), ["export"]
    telemetry.record("used", values)
    values.append("search")
    assert telemetry.recorded("used") == [["export"]]


def test_fixture_records_all_questions_of_a_survey(telemetry: Telemetry) -> None:
    looks = Survey("looks", ("mobile", "theme"))
    metrics = {name: dataclasses.replace(METRICS[name], survey=looks) for name in looks.metrics}
    for client in (dither.Client(metrics, ENDPOINT, "notes"), Telemetry(metrics)):
        client.record("theme", "dark")
        client.record("mobile", True)
        assert client.status().unasked == 0
        assert client.flush()
    assert (telemetry.recorded("theme"), telemetry.recorded("mobile")) == (["dark"], [True])
    assert telemetry.collector.counts() == {"theme": 1, "mobile": 1}


def test_fixture_returns_the_strata_of_answers(telemetry: Telemetry) -> None:
    strata = {"theme": dataclasses.replace(METRICS["theme"], strata=Strata.of([("platform", ["linux", "mac"])]))}
    client = dither.Client(METRICS | strata, ENDPOINT, "notes", strata={"platform": "linux"})
    client.record("theme", "dark")
    client.record("mobile", True)
    client.record("theme", "light", platform="mac")
    client.record("theme", "light", platform="Linux")
    assert telemetry.recorded("theme") == ["dark", "light", "light"]
    assert telemetry.strata("theme") == ["linux", "mac", "other"]
    assert telemetry.strata("mobile") == [None]
    assert telemetry.flush()
    assert telemetry.collector.strata("theme") == {"linux": 1}
    assert [len(telemetry.collector.reports("theme", stratum)) for stratum in ("linux", "mac", None)] == [1, 0, 1]
    with pytest.raises(
        dither.ParameterError, match=r"^metrics\.theme\.strata\.channel: the metric does not declare it"
    ):
        client.record("theme", "dark", channel="beta")
    assert len(telemetry.mistakes) == 1
    assert telemetry.mistakes[0].startswith(f"{__file__}:")
    telemetry.mistakes.clear()


def test_the_default_client_has_the_strata_that_the_app_gives_it(telemetry: Telemetry) -> None:
    telemetry.collector.define(stratified := {"survey": dataclasses.replace(METRICS["survey"], strata=PLATFORM)})
    on_mac = Telemetry(stratified, strata={"platform": "mac"})
    on_mac.record("survey", True)
    assert on_mac.strata("survey") == ["mac"]
    with on_mac.standing_in():
        dither.init(stratified, endpoint=ENDPOINT, app="notes", strata={"platform": "linux"})
        dither.record("survey", True)
        assert on_mac.strata("survey") == ["mac", "linux"]
        with pytest.raises(dither.ParameterError, match=r"^strata\.system: no metric of this client declares it"):
            dither.init(stratified, endpoint=ENDPOINT, app="notes", strata={"system": "linux"})
    assert len(on_mac.mistakes) == 1


def test_fixture_raises_mistakes_that_an_app_only_logs(telemetry: Telemetry) -> None:
    with pytest.raises(dither.ParameterError, match=r"metrics\.colour"):
        telemetry.record("colour", "red")
    with pytest.raises(dither.ParameterError, match=r"metrics\.theme"):
        telemetry.record("theme", object())
    with pytest.raises(dither.ParameterError, match=r"metrics\.colour"):
        telemetry.recorded("colour")
    assert telemetry.recorded("theme") == []
    assert [mistake.partition(": ")[2].partition(":")[0] for mistake in telemetry.mistakes] == [
        "metrics.colour",
        "metrics.theme",
    ]
    assert telemetry.mistakes[0].startswith(f"{__file__}:")
    telemetry.mistakes.clear()  # or this test would fail


def test_the_fixture_is_the_default_client(telemetry: Telemetry, tmp_path: Path) -> None:
    assert dither.init(tmp_path / "nowhere.toml", endpoint="https://example.org", app="notes") is telemetry
    dither.record("theme", "dark")
    assert telemetry.recorded("theme") == ["dark"]
    assert dither.default_client() is telemetry


def test_client_made_while_standing_in_stays_off_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER", "on")
    telemetry = Telemetry({})
    with telemetry.standing_in():
        client = dither.Client(METRICS, ENDPOINT, "notes", folder, spread=0.0)
        assert type(client) is dither.Client
        client.record("theme", "dark")
        assert (client.status().mode, client.status().queued, client.pending()) == ("on", 1, [])
        assert len(client.preview()) == 1
        assert client.flush()
        assert telemetry.collector.counts() == {"theme": 1}
        with pytest.raises(TypeError, match="endpoint"):
            dither.Client(METRICS, endpiont="")  # type: ignore[call-arg]  # that is the mistake
        with pytest.raises(dither.ParameterError, match="nowhere"):
            dither.Client("nowhere.toml", ENDPOINT, "notes")
    client.record("theme", "light")
    assert (client.status().mode, client.status().queued, client.status().sent) == ("off", 0, 0)
    assert telemetry.recorded("theme") == ["dark"]
    assert len(telemetry.mistakes) == 1
    assert not folder.exists()
    with Telemetry({}).standing_in():
        client.record("theme", "light")
        assert client.status().queued == 1, "another test stands in for it again"


def test_client_made_before_standing_in_is_restored_afterwards(make: Make, folder: Path) -> None:
    client = make(folder)
    record = client.record  # as an app keeps it at its import

    @client.outcome("mobile")
    def run() -> None:
        pass

    client.record("theme", "dark")
    waiting, journal = client.preview(), (folder / "journal").read_bytes()
    telemetry = Telemetry(METRICS)
    with telemetry.standing_in():
        assert client.preview() == []
        record("theme", "light")
        run()
        client.consent("off")
        client.forget()
        client.record("mobile", False)
    assert telemetry.recorded("theme") == ["light"]
    assert telemetry.recorded("mobile") == [True], "it was closed"
    assert client.preview() == waiting
    assert (folder / "journal").read_bytes() == journal
    client.record("editor", "vi")
    assert client.preview() == waiting, "the client is closed again"


def test_a_client_keeps_its_own_definitions(telemetry: Telemetry, make: Make) -> None:
    client = make(metrics={"mobile": OTHER}, strict=False, mode=None)
    client.record("mobile", "dark")
    telemetry.record("mobile", True)
    assert client.status().outside == 0
    assert telemetry.recorded("mobile") == ["dark", True]
    assert telemetry.flush()
    assert telemetry.collector.counts() == {"mobile": 2}
    with pytest.raises(dither.ParameterError, match=r"metrics\.theme: not defined"):
        client.record("theme", "dark")
    telemetry.mistakes.clear()


def test_nested_stand_ins_are_undone_in_order(folder: Path) -> None:
    made = dither.Client.__init__
    outer, inner = Telemetry(METRICS), Telemetry(METRICS)
    with outer.standing_in():
        client = dither.Client(METRICS, ENDPOINT, "notes", folder)
        with suppress(ValueError), inner.standing_in():
            client.record("theme", "dark")
            raise ValueError
        client.record("theme", "light")
        assert dither.default_client() is outer
    assert (outer.recorded("theme"), inner.recorded("theme")) == (["light"], ["dark"])
    assert dither.Client.__init__ is made


def test_fixture_collector_dedups_and_refuses_like_a_real_one() -> None:
    survey, mobile = dataclasses.replace(METRICS["survey"], strata=PLATFORM), METRICS["mobile"]
    collector = FakeCollector({"survey": survey, "mobile": mobile})
    for number, (name, version, stratum, row, status) in enumerate(
        (
            ("survey", survey.version, "linux", b"\0", 202),
            ("survey", survey.version, "other", b"\0", 202),
            ("survey", survey.version, "Linux", b"\0", 400),
            ("survey", survey.version, None, b"\0", 400),
            ("survey", METRICS["survey"].version, None, b"\0", 409),
            ("mobile", mobile.version, "linux", b"\0", 400),
            ("mobile", mobile.version, None, b"\7", 400),
            ("colour", mobile.version, None, b"\0", 404),
            ("mobile", mobile.version, None, b"\0", 202),
        )
    ):
        batch = Batch(f"{number:032x}", name, version, row, stratum)
        assert collector.send(batch.encode()).status == status, batch
    for again in (batch, batch._replace(reports=b"\1")):  # a batch id counts once
        assert collector.send(again.encode()).status == 202
    assert collector.counts() == {"survey": 2, "mobile": 1}
    assert [report.payload for report in collector.reports("mobile")] == [b"\0"]
    assert collector.strata("survey") == {"linux": 1, "other": 1}
    body = batch.encode()
    collector.answers, collector.down = [503, dither.Answer(429, 1.0), OSError("cut")], True
    assert [collector.send(body).status for _ in range(2)] == [503, 429]
    for words in ("cut", "down"):
        with pytest.raises(OSError, match=words):
            collector.send(body)


def test_fixture_tests_a_sealed_app_without_the_package(
    telemetry: Telemetry, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_package(monkeypatch)
    for number, more in enumerate(({"metrics": sealing()}, {"metrics": METRICS, "seal": str(KEY)}), 1):
        client = dither.Client(endpoint=ENDPOINT, app="notes", **more)  # type: ignore[arg-type]
        client.record("theme", "dark")
        assert client.flush()
        assert len(telemetry.collector.reports("theme")) == number
    dither.init(METRICS, ENDPOINT, "notes", seal=str(KEY))
    dither.record("theme", "dark")
    assert telemetry.recorded("theme") == ["dark"] * 3
    assert Telemetry(sealing()).status().mode == "on"


def test_fixture_stands_in_for_an_existing_sealed_client(make: Make) -> None:
    client = make(seal=KEY)
    telemetry = Telemetry({})
    with telemetry.standing_in():
        client.record("theme", "dark")
        assert telemetry.flush()
        assert telemetry.collector.counts() == {"theme": 1}
    client.record("theme", "dark")
    (body,) = client.preview()
    assert body.startswith(b'{"pool":"theme/')
