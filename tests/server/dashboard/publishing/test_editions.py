from datetime import UTC, date, datetime

import pytest

from dither_server.dashboard.publishing.editions import last_whole_day

TODAY = date(2026, 11, 20)


@pytest.mark.parametrize(
    ("folded", "last"),
    [
        (None, date(2026, 11, 19)),
        (datetime(2026, 11, 20, 6, tzinfo=UTC), date(2026, 11, 19)),
        (datetime(2026, 11, 20, 0, 5, tzinfo=UTC), date(2026, 11, 19)),
        (datetime(2026, 11, 20, 0, 4, 59, tzinfo=UTC), date(2026, 11, 18)),
        (datetime(2026, 11, 10, 12, tzinfo=UTC), date(2026, 11, 9)),
    ],
)
def test_a_day_is_published_when_it_is_over_and_counted_whole(folded: datetime | None, last: date) -> None:
    assert last_whole_day(TODAY, folded, 300.0) == last
