"""What becomes of a report by the answer, and the delays between tries."""

from dither.upload.retry import BUSY, REFUSED, Backoff, hold_of, verdict_on


def test_fates_of_all_answers() -> None:
    statuses = range(100, 600)
    assert {status for status in statuses if verdict_on(status).fate == "sent"} == {200, 202}
    assert {status for status in statuses if verdict_on(status).fate == "dropped"} == {400, 410, 413, 415, 422}
    kept = [status for status in statuses if verdict_on(status).fate is None]
    busy = {408, 425, 429, 502, 503, 504}
    assert {status for status in kept if verdict_on(status).patience == BUSY} == busy
    assert all(verdict_on(status).patience == REFUSED for status in {*kept} - busy)
    assert {status for status in kept if verdict_on(status).only_its_own} == {404, 409}


def test_delays_have_full_jitter_and_a_cap() -> None:
    longest = Backoff(lambda: 1.0)
    assert [longest.delay() for _ in range(5)] == [120, 240, 480, 600, 600]
    longest.reset()
    assert longest.delay() == 120
    assert [Backoff(lambda: 0.0).delay() for _ in range(3)] == [0, 0, 0]
    backoff = Backoff()
    for _ in range(10_000):
        backoff.delay()
    drawn = [backoff.delay() for _ in range(2000)]
    assert max(drawn) <= 600
    assert 270 < sum(drawn) / len(drawn) < 330  # mean 300, standard error 3.9


def test_a_wish_of_the_collector_is_rounded_up_and_capped() -> None:
    wishes = (None, -5.0, 0.0, 1.0, 900.0, 900.5, 21_000.0, 1e9)
    assert [hold_of(wish) for wish in wishes] == [0, 0, 0, 900, 900, 1800, 21_600, 21_600]
