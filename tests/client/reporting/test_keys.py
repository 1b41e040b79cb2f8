"""The secret of a device is drawn once, stored for its user alone, and shown nowhere."""

import os
from pathlib import Path

import dither
from client.devices import BROWSER, Make, parts_on
from dither.reporting.keys import Keys
from dither.state.journal_records import Secret
from dither_shared import SystemEntropy


def test_the_secret_is_drawn_from_the_entropy_that_is_given_and_stored_once(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    secret = (folder / "secret").read_bytes()
    make(folder).record("theme", "dark")
    assert (folder / "secret").read_bytes() == secret
    if os.name == "posix":
        assert (folder / "secret").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700
    assert isinstance(SystemEntropy().take(1), bytes)


def test_no_repr_shows_a_secret_or_a_value(make: Make) -> None:
    state = dither.MemoryState("on")
    parts = parts_on(state)
    parts.record("browser", "Very-Secret-Browser")
    client = make(state)
    client.record("editor", "Very-Secret-Editor")
    keys = Keys(b"s3cr3t" * 6)
    keys.of(BROWSER).draw(b"Very-Secret-Browser")
    shown = f"{Secret('s3cr3t')!r} {client!r} {client.status()!r} {keys!r} {state!r} {parts.journal!r} {parts!r}"
    assert "Very-Secret" not in shown
    assert "s3cr3t" not in shown
