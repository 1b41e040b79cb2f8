"""The core of a client: built once, also if the app made a mistake."""

from contextlib import closing

import pytest

from client.devices import METRICS
from dither import Client, MemoryState
from dither.core import ClientCore, Setup


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
        ("http://collector.example", True),
        ("HTTP://192.0.2.7:8000/x", True),
        ("http://localhost.example", True),
        ("https://collector.example", False),
        ("http://127.0.0.1:8000", False),
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
