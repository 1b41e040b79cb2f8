"""Apps of one user in a separate home folder."""

from pathlib import Path

import pytest

from client.devices import Calendar, Make, Script
from dither.state.folder import apps_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all apps of a user without apps."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "state"))
    return Path(apps_folder())


@pytest.fixture
def used(home: Path, make: Make, calendar: Calendar) -> Path:
    """The folder with three apps: the first sent and has reports waiting, the second only shows, the third is off."""
    notes = make(home / "org.example.notes", app="org.example.notes", transport=Script())
    notes.record("mobile", True)
    assert notes.flush(60)
    calendar.pass_days(1)
    notes.record("mobile", True)
    notes.record("theme", "dark")
    make(home / "paint", app="paint", mode="local").record("theme", "dark")
    make(home / "quiet", app="quiet", mode="off")
    return home
