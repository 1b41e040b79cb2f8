"""The baseline: the simplest collector, a Flask view that commits per request."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from flask import Flask, request

__all__ = ["make"]


def make() -> Flask:
    """Return the app; its database lies in the folder that ``BASELINE`` names."""
    app = Flask("baseline")
    path = Path(os.environ["BASELINE"]) / "baseline.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY)")
        columns = "metric TEXT, symbol TEXT, n INTEGER, PRIMARY KEY (metric, symbol)"
        connection.execute(f"CREATE TABLE IF NOT EXISTS counts ({columns})")

    @app.post("/v1/reports")
    def report() -> tuple[dict[str, int], int]:
        body = request.get_json()
        with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("INSERT INTO batches VALUES (?)", (body["batch"],))
            connection.execute(
                "INSERT INTO counts VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
                (body["metric"], body["reports"]),
            )
        return {"accepted": 1}, 202

    return app
