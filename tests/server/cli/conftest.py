"""Fixtures of the command line's tests."""

from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from server.collecting import METRICS, METRICS_TOML, OPEN, THEME, TODAY, rows_of, upload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        store.commit(
            [upload(THEME, rows_of(THEME, 2000)), upload(OPEN, rows_of(OPEN, 900, value="é"))], TODAY, b"s" * 16
        )
    return tmp_path
