"""The parts of a client: put together once, also where the app made a mistake."""

import pytest

from client.devices import METRICS
from dither.parts import Parts, Setup


def test_by_default_parts_keep_and_send_nothing() -> None:
    setup = Setup(app="tests", metrics=METRICS)
    parts = Parts(setup)
    parts.start()
    assert not parts.record("mobile", True)
    assert (parts.controls.preview(), parts.controls.status().mode) == ([], "off")
    with pytest.raises(OSError, match="sends nothing"):
        setup.transport.send(b"{}")
