"""The default client of a program, one at a time; the core of a client; and a warning about its endpoint."""

import inspect
import pydoc
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest

import dither
from client.devices import ENDPOINT, METRICS
from client.test_processes import run
from dither import Client, MemoryState
from dither.core import ClientCore, Setup
from dither.testing import FakeCollector


def test_init_has_the_signature_of_a_client() -> None:
    ours, theirs = inspect.signature(dither.init), inspect.signature(dither.Client)
    assert list(ours.parameters.values()) == list(theirs.parameters.values())
    assert ours.return_annotation is dither.Client
    assert "lifetime_cap" in pydoc.render_doc(dither.init)


if TYPE_CHECKING:  # checked by mypy, to which an unneeded ignore is an error, too
    assert_type(dither.init("metrics.toml", endpoint="", app="notes", strict=True), dither.Client)
    dither.init("metrics.toml", endpiont="", app="notes")  # type: ignore[call-arg]
    dither.init("metrics.toml", endpoint="", app="notes", strict="yes")  # type: ignore[arg-type]


def test_without_a_default_client_a_record_goes_nowhere() -> None:
    program = (
        "import dither\n"
        "assert dither.default_client() is None\n"
        "dither.record('theme', 'dark')\n"
        "with dither.outcome('mobile'):\n"
        "    print('done')\n"
    )
    done = run(program)
    assert (done.stdout, done.stderr) == ("done\n", "")


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
    second.close()


def test_default_core_stores_and_sends_nothing() -> None:
    core = ClientCore(Setup(app="tests", metrics=METRICS))
    core.start()
    core.record("mobile", True)
    assert (core.preview(), core.status().mode) == ([], "off")
    assert core.setup.transport is not None
    with pytest.raises(OSError, match="sends nothing"):
        core.setup.transport.send(b"{}")


@pytest.mark.parametrize(
    ("endpoint", "warned"),
    [
        ("HTTP://192.0.2.7:8000/x", True),
        ("http://localhost.example", True),
        ("https://collector.example", False),
        ("http://localhost:8000/x", False),
        ("http://[::1]:8000", False),
    ],
)
def test_an_endpoint_without_encryption_is_warned_about_once(
    endpoint: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Client({}, endpoint, "tests", MemoryState(), background=False, environ={})) as client:
        client.status()
    assert [record.message.partition(":")[0] for record in caplog.records] == ["endpoint"] * warned
