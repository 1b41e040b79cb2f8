"""What becomes of a report by the answer, and the delays between tries."""

from dither.upload.retry import BUSY, REFUSED, hold_of, rule_for, uniform


def test_each_status_has_its_fate_and_retry_window() -> None:
    statuses = range(100, 600)
    assert {status for status in statuses if rule_for(status).fate == "sent"} == {200, 202}
    assert {status for status in statuses if rule_for(status).fate == "dropped"} == {400, 410, 413, 415, 422}
    kept = [status for status in statuses if rule_for(status).fate is None]
    busy = {408, 425, 429, 502, 503, 504}
    assert {status for status in kept if rule_for(status).window == BUSY} == busy
    assert all(rule_for(status).window == REFUSED for status in {*kept} - busy)
    assert {status for status in kept if rule_for(status).metric_only} == {404, 409}


def test_delays_are_drawn_uniformly() -> None:
    drawn = [uniform() for _ in range(2000)]
    assert 0 <= min(drawn) <= max(drawn) < 1
    assert 0.45 < sum(drawn) / len(drawn) < 0.55  # mean 0.5, standard error 0.0065


def test_retry_after_is_rounded_up_and_capped() -> None:
    wishes = (None, -5.0, 0.0, 1.0, 900.0, 900.5, 21_000.0, 1e9)
    assert [hold_of(wish) for wish in wishes] == [0, 0, 0, 900, 900, 1800, 21_600, 21_600]
