"""The fixture ``telemetry`` as the tests of an app use it."""

import pytest

pytest_plugins = ["pytester"]

TOML = '[metrics]\ncrashed = {type = "boolean", epsilon = 1.0}\n'
APP = """
import dither
dither.init({path!r}, endpoint="https://example.org", app="notes")

def crash(value):
    try:
        dither.record("crashed", value)
    except Exception:
        pass
"""


def test_a_mistake_fails_the_test_though_the_app_swallows_it(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", metrics=TOML)
    pytester.makepyfile(
        app=APP.format(path="metrics.toml"),
        test_app="""
def test_yes(telemetry):
    import app
    app.crash(True)
    assert telemetry.recorded("crashed") == [True]

def test_mistaken(telemetry):
    import app
    app.crash("yes")

def test_without_telemetry():
    import app
    app.crash("yes")
""",
    )
    outcome = pytester.runpytest_inprocess()
    outcome.assert_outcomes(passed=3, errors=1)
    outcome.stdout.fnmatch_lines(["*app.py:6: metrics.crashed: str is not an answer; give True or *"])


def test_a_project_without_definitions_at_its_root(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("inner")
    (pytester.path / "inner" / "metrics.toml").write_text(TOML)
    pytester.makepyfile(
        app=APP.format(path="inner/metrics.toml"),
        test_app="""
import dither, pytest

def test_init(telemetry):
    import app
    assert dither.default_client() is telemetry
    app.crash(True)
    assert telemetry.recorded("crashed") == [True]

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
