"""Tables of a terminal."""

from dither_server.cli.terminal_tables import as_text
from dither_server.reading.summaries import SUMMARIES


def test_labels_cannot_steer_the_terminal() -> None:
    row = {"frequency": 0.5, "standard_error": None, "low": 0.0, "high": 1.0, "consistent": None, "verdict": "ok"}
    row |= {"found": None}
    row |= {"gain_up": None, "gain_down": None}
    answer = {
        "metric": "m", "mechanism": "r", "privacy": "", "reports": 0, "since": None, "until": None,
        "confidence": 0.95, "simultaneous": None, "version": "", "health": [],
        "unlisted": None, "values": [row | {"value": "\x1b[2J\n"}],
    }  # fmt: skip
    table = as_text(SUMMARIES["choice"].text(answer))
    assert "\x1b" not in table
    assert r"\x1b[2J\n" in table
