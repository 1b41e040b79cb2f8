"""What an app's developer has: a default client, outcomes, and a fixture for tests."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Make
from dither import default
from dither.testing import FakeCollector, Telemetry
from dither_shared import Batch, Metric, RandomizedResponse

OTHER = Metric("mobile", "choice", RandomizedResponse.calibrate(4, 2.0), METRICS["theme"].domain)


@pytest.fixture(name="dither_metrics")
def _own_metrics() -> dict[str, Metric]:
    return METRICS


@pytest.fixture
def no_default() -> Iterator[None]:
    yield
    for client in default._clients:
        client.close()
    default._clients.clear()


def test_the_fixture_tells_what_was_recorded(telemetry: Telemetry) -> None:
    telemetry.record("theme", "dark")
    telemetry.record("theme", "light")
    telemetry.record("mobile", True)
    assert telemetry.recorded("theme") == ["dark", "light"]
    assert telemetry.recorded("mobile") == [True]
    assert telemetry.recorded("editor") == []
    assert telemetry.status().mode == "on"
    assert telemetry.collector.bodies == [], "nothing is sent until the test says so"
    assert telemetry.flush(5)
    assert telemetry.collector.counts() == {"theme": 1, "mobile": 1}
    assert len(telemetry.collector.reports("theme")) == 1


def test_the_fixture_raises_what_an_app_would_only_log(telemetry: Telemetry) -> None:
    with pytest.raises(dither.ParameterError, match=r"metrics\.colour"):
        telemetry.record("colour", "red")
    with pytest.raises(dither.ParameterError, match=r"metrics\.theme"):
        telemetry.record("theme", object())
    with pytest.raises(dither.ParameterError, match=r"metrics\.colour"):
        telemetry.recorded("colour")
    assert telemetry.recorded("theme") == []


def test_the_fixture_is_the_default_client(telemetry: Telemetry, tmp_path: Path) -> None:
    assert dither.init(tmp_path / "nowhere.toml", endpoint="https://example.org", app="notes") is telemetry
    dither.record("theme", "dark")
    assert telemetry.recorded("theme") == ["dark"]
    assert dither.default_client() is telemetry


def test_the_plugin_as_an_app_uses_it(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", metrics='[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n')
    pytester.makepyfile(
        app="import dither\ndither.init('metrics.toml', endpoint='https://example.org', app='notes')\n"
        "def choose(theme): dither.record('theme', theme)\n",
        test_app="def test_choosing(telemetry):\n    import app\n    app.choose('dark')\n"
        "    assert telemetry.recorded('theme') == ['dark']\n",
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


pytest_plugins = ["pytester"]


@pytest.mark.usefixtures("no_default")
def test_without_a_default_client_a_record_goes_nowhere() -> None:
    assert dither.default_client() is None
    dither.record("theme", "dark")
    with dither.outcome("mobile"):
        pass


@pytest.mark.usefixtures("no_default")
def test_one_default_client_at_a_time(folder: Path) -> None:
    named = {"transport": FakeCollector(METRICS), "background": False, "environ": {"DITHER": "on"}}
    first = dither.init(METRICS, ENDPOINT, "tests", dither.MemoryState(), **named)
    dither.record("theme", "dark")
    assert first.status().queued == 1
    second = dither.init(METRICS, ENDPOINT, "tests", folder, **named)
    assert dither.default_client() is second
    dither.record("mobile", True)
    first.record("mobile", True)
    assert (first.status().queued, second.status().queued) == (1, 1)


def test_an_outcome_is_an_answer(telemetry: Telemetry) -> None:
    with telemetry.outcome("mobile"):
        pass
    with pytest.raises(ZeroDivisionError), telemetry.outcome("mobile"):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), telemetry.outcome("mobile"):
        raise KeyboardInterrupt
    assert telemetry.recorded("mobile") == [True, False]


def test_an_outcome_decorates_functions(telemetry: Telemetry) -> None:
    @dither.outcome("theme", ok="light", failed="dark")
    def half(number: int, *, by: int) -> float:
        """Divide."""
        return number / by

    assert (half(4, by=2), half.__doc__) == (2, "Divide.")
    with pytest.raises(ZeroDivisionError):
        half(4, by=0)
    assert telemetry.recorded("theme") == ["light", "dark"]


def test_an_outcome_decorates_coroutines(telemetry: Telemetry) -> None:
    @telemetry.outcome("mobile")
    async def later(fails: bool) -> str:
        await asyncio.sleep(0)
        assert telemetry.recorded("mobile") == [False] * (not fails), "not before it is done"
        if fails:
            raise ValueError
        return "done"

    with pytest.raises(ValueError, match=r"^$"):
        asyncio.run(later(True))
    assert asyncio.run(later(False)) == "done"
    assert telemetry.recorded("mobile") == [False, True]


def test_the_collector_counts_once_and_refuses_what_a_real_one_refuses(make: Make) -> None:
    collector = FakeCollector(METRICS)
    client = make(transport=collector)
    client.record("mobile", True)
    (body,) = client.preview()
    collector.down = True
    assert not client.flush(0)
    collector.down = False
    assert [collector.send(body).status for _ in range(2)] == [202, 202]
    assert collector.counts() == {"mobile": 1}
    batch = Batch.decode(body)
    changes = {"metric": "colour", "version": "0" * 16, "reports": b"\x07"}
    statuses = {}
    for field, value in changes.items():
        fields = {"batch": "1" * 32, "metric": batch.metric, "version": batch.version, "reports": batch.reports}
        statuses[field] = collector.send(Batch(**(fields | {field: value})).encode()).status  # type: ignore[arg-type]
    assert statuses == {"metric": 404, "version": 409, "reports": 400}
    again = Batch(batch.batch, batch.metric, batch.version, bytes([batch.reports[0] ^ 1]))
    assert collector.send(again.encode()).status == 409
    collector.answers = [503, dither.Answer(429, 1.0), OSError("cut")]
    assert [collector.send(body).status for _ in range(2)] == [503, 429]
    with pytest.raises(OSError, match="cut"):
        collector.send(body)
