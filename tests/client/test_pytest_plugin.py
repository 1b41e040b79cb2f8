"""The fixture ``telemetry`` as the tests of an app use it."""

import pytest

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


def test_plugin_records_what_an_app_records(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", metrics='[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n')
    pytester.makepyfile(
        app="import dither\ndither.init('metrics.toml', endpoint='https://example.org', app='notes')\n"
        "def choose(theme): dither.record('theme', theme)\n",
        test_app="def test_choosing(telemetry):\n    import app\n    app.choose('dark')\n"
        "    assert telemetry.recorded('theme') == ['dark']\n",
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_plugin_records_through_a_client_made_at_the_apps_import(pytester: pytest.Pytester) -> None:
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
    app.telemetry.close()
""",
    )
    outcome = pytester.runpytest_inprocess()
    outcome.assert_outcomes(passed=3, errors=1)
    outcome.stdout.fnmatch_lines(["*app.py:11: metrics.crashed: str is not an answer; give True or *"])


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
