"""The core of a client: put together once, also where the app made a mistake."""

import pytest

from client.devices import METRICS
from dither.core import ClientCore, Setup


def test_by_default_a_core_keeps_and_sends_nothing() -> None:
    core = ClientCore(Setup(app="tests", metrics=METRICS))
    core.start()
    core.record("mobile", True)
    assert (core.preview(), core.status().mode) == ([], "off")
    assert core.setup.transport is not None
    with pytest.raises(OSError, match="sends nothing"):
        core.setup.transport.send(b"{}")
