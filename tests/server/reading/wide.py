"""A collector whose answers are long: 300 values on 20 days."""

import json
from contextlib import closing
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
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
    """A collector on a copy of a database that each process fills once."""
    (folder / "dither.db").write_bytes(_database())
    return create_app(config(folder, metrics=METRICS | {"wide": WIDE}, **changed))


@cache
def _database() -> bytes:
    rows = b"".join(rows_of(WIDE, 20, b"%d" % number, f"v,{number * number % 7}") for number in range(5))
    with TemporaryDirectory() as folder:
        with closing(collector_of(create_app(config(Path(folder), metrics=METRICS | {"wide": WIDE})))) as collector:
            for day in range(DAYS):
                uploads = [upload(WIDE, rows), upload(THEME, rows_of(THEME, 60))]
                collector.store.commit(uploads, TODAY - timedelta(days=day), b"s" * 16)
        return (Path(folder) / "dither.db").read_bytes()


def ended(app: Flask) -> dict[str, int]:
    """How many analyses ended in each way."""
    lines = collector_of(app).prometheus.text().decode().splitlines()
    counts = [line.partition('outcome="')[2].split('"} ') for line in lines if line.startswith("dither_analyses_total")]
    return {outcome: int(float(number)) for outcome, number in counts}


def rows(client: FlaskClient, path: str) -> list[dict[str, Any]]:
    response = client.get(path)
    assert response.status_code == 200, response.data
    return list(json.loads(response.data)["values"])
