import json
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.reading.folded import folded
from dither_server.store import Store
from server.cli.invoking import invoke
from server.collecting import METRICS_TOML, TODAY, upload

BEGUN = datetime(2026, 11, 20, 14, 5, 59, tzinfo=UTC)
TOLD = "2026-11-20T14:05:59Z"
ESTIMATE = "/v1/metrics/theme/estimate"


def fold(store: Store) -> None:
    """Note a run as a fold does."""
    store.folds.begin(b"r" * 16, BEGUN)
    store.folds.finish(b"r" * 16)


def test_where_no_fold_has_ended_nothing_is_told(store: Store) -> None:
    assert folded(store.folds.up_to()) == {}
    store.folds.begin(b"r" * 16, BEGUN)
    assert folded(store.folds.up_to()) == {}
    store.folds.finish(b"r" * 16)
    assert folded(store.folds.up_to()) == {"folded_up_to": TOLD}


def test_the_api_tells_it(app: Flask, client: FlaskClient) -> None:
    paths = [ESTIMATE, f"{ESTIMATE}?values=dark", "/v1/metrics"]
    for path in paths:
        assert "folded_up_to" not in client.get(path).json  # type: ignore[operator]
    store = collector_of(app).store
    store.commit([upload()], TODAY, b"s" * 16)
    fold(store)
    for path in paths:
        assert client.get(path).json["folded_up_to"] == TOLD  # type: ignore[index]
    assert [one["folded_up_to"] for one in client.get(f"{ESTIMATE}?by_day=true").json or ()] == [TOLD]
    assert TOLD not in client.get(f"{ESTIMATE}?format=csv").text  # whose columns are those of before


def test_the_command_tells_it(tmp_path: Path, store: Store) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    assert "folded" not in invoke(tmp_path, "estimate", "theme").stdout
    fold(store)
    lines = invoke(tmp_path, "estimate", "theme").stdout.splitlines()
    since = "what collectors took shortly before it, or since, is counted by a later one"
    assert lines[0] == f"last fold began 2026-11-20 14:05:59 UTC; {since}"
    assert json.loads(invoke(tmp_path, "estimate", "theme", "--json").stdout)["folded_up_to"] == TOLD
