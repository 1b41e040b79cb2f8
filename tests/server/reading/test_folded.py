"""Answers say how far the last fold of a spool has come."""

import json
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from server.cli.invoking import invoke
from server.collecting import METRICS_TOML, TODAY, upload

TOLD = "2026-11-20T14:05:59Z"
ESTIMATE = "/v1/metrics/theme/estimate"


def test_answers_and_commands_say_how_far_the_last_fold_has_come(
    app: Flask, client: FlaskClient, tmp_path: Path
) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    store = collector_of(app).store
    store.commit([upload()], TODAY, b"s" * 16)
    store.folds.begin(b"r" * 16, datetime(2026, 11, 20, 14, 5, 59, tzinfo=UTC))  # this run has not ended
    paths = [ESTIMATE, f"{ESTIMATE}?values=dark", "/v1/metrics"]
    assert not [path for path in paths if "folded_up_to" in client.get(path).text]
    assert "folded" not in invoke(tmp_path, "estimate", "theme").stdout
    store.folds.finish(b"r" * 16)
    assert [client.get(path).json["folded_up_to"] for path in paths] == [TOLD] * 3  # type: ignore[index]
    assert [answer["folded_up_to"] for answer in client.get(f"{ESTIMATE}?by_day=true").json or ()] == [TOLD]
    assert TOLD not in client.get(f"{ESTIMATE}?format=csv").text, "a table has no such column"
    line = invoke(tmp_path, "estimate", "theme").stdout.splitlines()[0]
    since = "reports received shortly before it, or since, will be counted by a later one"
    assert line == f"last fold began 2026-11-20 14:05:59 UTC; {since}"
    assert json.loads(invoke(tmp_path, "estimate", "theme", "--json").stdout)["folded_up_to"] == TOLD
