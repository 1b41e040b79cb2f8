"""What an app's developer has: a default client, outcomes, and a fixture for tests."""

import asyncio
import inspect
import pydoc
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Make
from dither import default
from dither.testing import FakeCollector, Telemetry
from dither_shared import Batch, Metric, RandomizedResponse

OTHER = Metric("mobile", METRICS["theme"].question, RandomizedResponse.calibrate(4, 2.0))


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

TOML = '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'
CRASHED = '[metrics.crashed]\ntype = "boolean"\nepsilon = 1.0\n'
OWN_CLIENT = """
import dither, pathlib
HERE = pathlib.Path(__file__).parent
telemetry = dither.Client(HERE / "app.toml", "http://127.0.0.1:9", "notes", HERE / "state", environ={"DITHER": "on"})
record = telemetry.record

@telemetry.outcome("crashed", ok=False, failed=True)
def run(): pass

def quietly(value):
    try:
        record("crashed", value)
    except Exception:
        pass
"""


def test_an_app_with_a_client_of_its_own_made_at_its_import(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", app=CRASHED)
    pytester.makepyfile(
        app=OWN_CLIENT,
        test_app="""
import app, dither, os

before = os.listdir(app.HERE / "state")

def test_it_is_heard(telemetry):
    app.telemetry.record("crashed", True)
    app.record("crashed", True)
    app.run()
    assert telemetry.recorded("crashed") == [True, True, False]
    assert app.telemetry.status().queued == 1
    assert telemetry.flush() and telemetry.collector.counts() == {"crashed": 1}
    assert isinstance(app.telemetry, dither.Client) and app.telemetry.status().mode == "on"
    app.telemetry.consent("off")

def test_what_an_earlier_test_did_is_forgotten(telemetry):
    assert telemetry.recorded("crashed") == []
    assert app.telemetry.status().mode == "on"

def test_afterwards_it_is_what_it_was():
    assert app.telemetry.status().sent == app.telemetry.status().queued == 0
    assert app.telemetry.status().mode == "on"
    assert os.listdir(app.HERE / "state") == before
""",
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_a_mistake_fails_the_test_though_the_app_swallows_it(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", app=CRASHED)
    pytester.makepyfile(
        app=OWN_CLIENT,
        test_app="""
import app

def test_yes(telemetry):
    app.quietly(1)
    assert telemetry.recorded("crashed") == [1]

def test_mistaken(telemetry):
    app.quietly("yes")

def test_without_telemetry():
    app.quietly("yes")
""",
    )
    outcome = pytester.runpytest_inprocess()
    outcome.assert_outcomes(passed=3, errors=1)
    outcome.stdout.fnmatch_lines(["*app.py:11: metrics.crashed: a value of type str that is no answer; give True or *"])


def test_a_project_without_definitions_at_its_root(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("inner")
    (pytester.path / "inner" / "metrics.toml").write_text(TOML)
    pytester.makepyfile(
        test_app="""
import dither, pytest

def test_init(telemetry):
    assert dither.init("inner/metrics.toml", endpoint="", app="notes") is telemetry
    dither.record("theme", "dark")
    assert telemetry.recorded("theme") == ["dark"]

def test_init_of_nothing(telemetry):
    with pytest.raises(dither.ParameterError, match="nowhere"):
        dither.init("nowhere.toml", endpoint="", app="notes")
    assert len(telemetry.mistakes) == 1
    telemetry.mistakes.clear()

def test_wrong_argument(telemetry):
    with pytest.raises(TypeError, match="endpoint"):
        dither.init("inner/metrics.toml", endpiont="", app="notes")
""",
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_a_client_made_meanwhile_is_off_for_good(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_client_from_before_is_afterwards_what_it_was(make: Make, folder: Path) -> None:
    client = make(folder)
    client.record("theme", "dark")
    waiting, journal = client.preview(), (folder / "journal").read_bytes()
    telemetry = Telemetry(METRICS)
    with telemetry.standing_in():
        assert client.preview() == []
        client.record("theme", "light")
        client.record("mobile", True)
        client.consent("off")
        client.forget()
        client.record("mobile", False)
    assert telemetry.recorded("theme") == ["light"]
    assert telemetry.recorded("mobile") == [True], "it was closed"
    assert client.preview() == waiting
    assert (folder / "journal").read_bytes() == journal
    client.record("editor", "vi")
    assert client.preview() == waiting, "and is closed now"


def test_a_client_keeps_its_own_definitions(telemetry: Telemetry, make: Make) -> None:
    own = make(metrics={"mobile": OTHER}, strict=False, mode=None)
    own.record("mobile", "dark")
    telemetry.record("mobile", True)
    assert own.status().outside == 0
    assert telemetry.recorded("mobile") == ["dark", True]
    assert telemetry.flush()
    assert telemetry.collector.counts() == {"mobile": 2}
    with pytest.raises(dither.ParameterError, match=r"metrics\.theme: not defined"):
        own.record("theme", "dark")
    telemetry.mistakes.clear()


def test_a_subclass_is_heard_and_keeps_what_is_its_own(telemetry: Telemetry) -> None:
    class Polite(dither.Client):
        def __init__(self, greeting: str) -> None:
            self.greeting = greeting
            super().__init__(METRICS, ENDPOINT, "notes")

        def record(self, metric: str, value: object) -> None:
            super().record(metric, f"{self.greeting} {value}")

    Polite("dear").record("browser", "Firefox")
    assert telemetry.recorded("browser") == ["dear Firefox"]


def test_clients_of_many_threads_are_heard(telemetry: Telemetry) -> None:
    def work() -> None:
        client = dither.Client(METRICS, ENDPOINT, "notes")
        for _ in range(50):
            client.record("mobile", True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert telemetry.recorded("mobile") == [True] * 400
    assert telemetry.flush()
    assert telemetry.collector.counts() == {"mobile": 8}


def test_two_that_stand_in_are_undone_in_turn(folder: Path) -> None:
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


def test_standing_in_again_and_again_takes_no_longer() -> None:
    client = dither.Client(METRICS, ENDPOINT, "notes", dither.MemoryState(), environ={})
    replaced = []
    for _ in range(20):
        telemetry = Telemetry(METRICS)
        with telemetry.standing_in():
            client.record("theme", "dark")
            replaced.append(len(telemetry._others))
    assert max(replaced) == replaced[0], "what stood in before is not replaced in turn"


def test_init_has_the_signature_of_a_client() -> None:
    ours, theirs = inspect.signature(dither.init), inspect.signature(dither.Client)
    assert list(ours.parameters.values()) == list(theirs.parameters.values())
    assert ours.return_annotation is dither.Client
    assert "lifetime_cap" in pydoc.render_doc(dither.init)


if TYPE_CHECKING:  # what a type checker makes of it: an ignore that is not needed is an error, too
    assert_type(dither.init("metrics.toml", endpoint="", app="notes", strict=True), dither.Client)
    dither.init("metrics.toml", endpiont="", app="notes")  # type: ignore[call-arg]
    dither.init("metrics.toml", endpoint="", app="notes", strict="yes")  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_default")
def test_without_a_default_client_a_record_goes_nowhere() -> None:
    assert dither.default_client() is None
    dither.record("theme", "dark")
    with dither.outcome("mobile"):
        pass


@pytest.mark.usefixtures("no_default")
def test_one_default_client_at_a_time(folder: Path) -> None:
    named: dict[str, Any] = {"transport": FakeCollector(METRICS), "background": False, "environ": {"DITHER": "on"}}
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
