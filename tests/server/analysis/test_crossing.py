"""Two things crossed: one question whose values are the pairs, for reports of two questions cannot be joined."""

from itertools import product
from pathlib import Path

from dither_server.app import collector_of, create_app
from dither_shared import parse_metrics
from server.collecting import TODAY, config, rows_of, upload

THEMES, DEVICES = ("light", "dark"), ("phone", "desktop")
CROSSED = parse_metrics(
    f"""
[metrics.theme_by_device]
type = "choice"
values = {[f"{theme}|{device}" for theme, device in product(THEMES, DEVICES)]}
epsilon = 3.0
"""
)
PEOPLE = {"light|phone": 300, "light|desktop": 500, "dark|phone": 900, "dark|desktop": 300}


def test_pairs_are_estimated_and_add_up_to_each_question(tmp_path: Path) -> None:
    """A sum of unbiased shares is unbiased: within six standard errors, of which each adds its own."""
    metric = CROSSED["theme_by_device"]
    app = create_app(config(tmp_path, metrics=CROSSED))
    store, client = collector_of(app).store, app.test_client()
    uploads = [upload(metric, rows_of(metric, people, pair.encode(), pair)) for pair, people in PEOPLE.items()]
    store.commit(uploads, TODAY, b"s" * 16)
    told = client.get("/v1/metrics/theme_by_device/estimate").json
    assert told is not None
    rows = {row["value"]: row for row in told["values"]}
    for pair, people in PEOPLE.items():
        assert abs(rows[pair]["frequency"] - people / 2000) < 6 * rows[pair]["noise_error"]
    dark = [rows[f"dark|{device}"] for device in DEVICES]
    assert abs(sum(row["frequency"] for row in dark) - 0.6) < 6 * sum(row["noise_error"] for row in dark)
    assert dark[0]["noise_low"] > dark[1]["noise_high"]  # dark goes with phones, which no two questions could have told
    collector_of(app).close()
