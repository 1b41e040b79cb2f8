"""A collector whose answers are long: 300 values on 20 days."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_shared import parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, rows_of, upload

DAYS = 20
WIDE = parse_metrics(
    '[metrics.wide]\ntype = "choice"\nmechanism = "symmetric-unary"\nepsilon = 3.0\nvalues = [{}]\n'.format(
        ", ".join(f'"v,{number}"' for number in range(299))
    )
)["wide"]
ESTIMATE, TREND = "/v1/metrics/wide/estimate", "/v1/metrics/wide/trend"
COMPARE = "/v1/metrics/wide/compare"
TABLE = f"{ESTIMATE}?by_day=true&format=csv"


def filled(folder: Path, **changed: object) -> Flask:
    app = create_app(config(folder, metrics=METRICS | {"wide": WIDE}, **changed))
    store = collector_of(app).store
    for day in range(DAYS):
        rows = b"".join(rows_of(WIDE, 20, b"%d" % number, f"v,{number * number % 7}") for number in range(5))
        store.commit([upload(WIDE, rows), upload(THEME, rows_of(THEME, 60))], TODAY - timedelta(days=day), b"s" * 16)
    return app


def ended(app: Flask) -> dict[str, int]:
    """How many analyses ended in each way."""
    told = collector_of(app).prometheus.text().decode().splitlines()
    counts = [line.partition('outcome="')[2].split('"} ') for line in told if line.startswith("dither_analyses_total")]
    return {outcome: int(float(number)) for outcome, number in counts}


def rows(client: FlaskClient, path: str) -> list[dict[str, Any]]:
    response = client.get(path)
    assert response.status_code == 200, response.data
    return list(json.loads(response.data)["values"])
