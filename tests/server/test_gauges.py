"""What Prometheus reads."""

from flask.testing import FlaskClient

from server.collecting import THEME, batch, rows_of


def test_counts_follow_what_happens(client: FlaskClient) -> None:
    body = batch(THEME, rows_of(THEME, 7)).encode()
    for sent in (body, body, b"nonsense"):
        client.post("/v1/reports", data=sent, content_type="application/json")
    response = client.get("/metrics")
    assert response.mimetype == "text/plain"
    lines = response.text.splitlines()
    assert 'dither_reports_acknowledged_total{metric="theme"} 14.0' in lines
    assert 'dither_ingest_answers_total{status="202"} 2.0' in lines
    assert 'dither_ingest_answers_total{status="400"} 1.0' in lines
    assert "dither_commit_batches_sum 2.0" in lines
    assert "dither_commit_failures_total 0.0" in lines
    assert "dither_batches_waiting 0.0" in lines
    assert not any("_created" in line for line in lines if "192." in line)
