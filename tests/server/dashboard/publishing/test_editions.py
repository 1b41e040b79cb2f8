from datetime import UTC, date, datetime

from dither_server.dashboard.publishing.contents import last_whole_day

TODAY = date(2026, 11, 20)


def test_day_is_published_when_it_is_over_and_wholly_folded() -> None:
    for folded, last in (
        (None, 19),
        (datetime(2026, 11, 20, 6, tzinfo=UTC), 19),
        (datetime(2026, 11, 20, 0, 5, tzinfo=UTC), 19),
        (datetime(2026, 11, 20, 0, 4, 59, tzinfo=UTC), 18),
        (datetime(2026, 11, 10, 12, tzinfo=UTC), 9),
    ):
        assert last_whole_day(TODAY, folded, 300.0) == date(2026, 11, last), folded
