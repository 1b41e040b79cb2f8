from datetime import datetime, timedelta

from dither_server.store import Store
from dither_server.store.counting.folds import Sums
from dither_server.tally.blocks import to_blocks
from dither_server.tally.fold import fold
from server.collecting import MOBILE, THEME, TODAY, rows_of, sealed_upload, upload

RUN = b"r" * 16
YESTERDAY = TODAY - timedelta(days=1)


def test_days_counted_by_folds_and_collectors_are_found(store: Store) -> None:
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, rows_of(THEME, 3)))
    days = [TODAY - timedelta(days=back) for back in (0, 1, 2, 3)]
    store.folds.begin(RUN, datetime.fromisoformat("2026-11-20T10:00:00+00:00"))
    store.folds.add(RUN, 0, {(THEME.version, day, 0): blocks for day in days[:3]}, Sums())
    assert store.counted_both_ways(days[-1]) == []
    store.commit([upload()], days[3], b"s" * 16)
    assert store.counted_both_ways(days[-1]) == []
    for day in days[1:3]:  # of another metric: it is the collectors that differ
        store.commit([upload(MOBILE, rows_of(MOBILE, 1, value=True))], day, b"s" * 16)
    assert store.counted_both_ways(days[-1]) == [days[2], days[1]]
    assert store.counted_both_ways(YESTERDAY) == [YESTERDAY]
    assert store.counted_both_ways(TODAY) == []


def test_sealed_reports_do_not_count_as_counted_by_a_collector(store: Store) -> None:
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, rows_of(THEME, 3)))
    store.folds.begin(RUN, datetime.fromisoformat("2026-11-20T10:00:00+00:00"))
    store.folds.add(RUN, 0, {(THEME.version, TODAY, 0): blocks}, Sums())
    store.commit([sealed_upload()], TODAY, b"s" * 16)
    assert store.counted_both_ways(YESTERDAY) == []
    store.commit([upload()], TODAY, b"t" * 16)
    assert store.counted_both_ways(YESTERDAY) == [TODAY]
