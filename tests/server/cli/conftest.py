"""Fixtures of the command line's tests."""

from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from server.collecting import METRICS, METRICS_TOML, OPEN, THEME, TODAY, rows_of, upload


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a collector has run, for tests that only read there."""
    folder = tmp_path_factory.mktemp("collected")
    (folder / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register(METRICS.values())
        uploads = [upload(THEME, rows_of(THEME, 2000)), upload(OPEN, rows_of(OPEN, 900, value="é"))]
        store.commit(uploads, TODAY, b"s" * 16)
    return folder


@pytest.fixture
def folder(collected: Path, tmp_path: Path) -> Path:
    """A copy of that, for tests that change it."""
    for name in ("metrics.toml", "dither.db"):
        (tmp_path / name).write_bytes((collected / name).read_bytes())
    return tmp_path
