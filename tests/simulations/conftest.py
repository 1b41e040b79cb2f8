"""Fixtures of the laboratory's tests."""

import sys
from pathlib import Path

import pytest

from forkserver import stubs


@pytest.fixture
def _forked_collectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the collectors that the laboratory starts from a process that has imported them."""
    if stubs():
        monkeypatch.setattr(sys, "executable", str(Path(stubs(), "python")))
