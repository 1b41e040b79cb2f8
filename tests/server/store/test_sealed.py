from dataclasses import replace
from datetime import date

from dither_server.store import Sealed, Sealing, Store, Upload
from dither_server.store.removal import removals
from dither_server.tally.tally import Tally
from server.collecting import (
    COUNTED,
    DISABLED,
    EMPTY,
    LAYOUT,
    MOBILE,
    SHARD,
    STRATA,
    THEME,
    TODAY,
    ago,
    rows_of,
    same,
    sealed_upload,
    upload,
)

OTHER = b"o" * 16
YESTERDAY = ago(1)


def test_sealed_reports_are_added_up_by_day_and_stratum(store: Store) -> None:
    store.register(STRATA.values())
    for day, shard, sent in (
        (YESTERDAY, SHARD, sealed_upload(total=900, refused=2)),
        (TODAY, SHARD, sealed_upload(total=800, refused=1)),
        (TODAY, SHARD, sealed_upload(total=850)),
        (TODAY, OTHER, sealed_upload(total=700)),
        (TODAY, OTHER, sealed_upload(MOBILE, total=5, rows=rows_of(MOBILE, 9))),
        (TODAY, OTHER, sealed_upload(LAYOUT, total=6, stratum=1)),
        (TODAY, OTHER, sealed_upload(LAYOUT, total=4, stratum=3)),
    ):
        assert store.commit([sent, upload()], day, shard) == [COUNTED, COUNTED]
    assert store.sealed(THEME) == Sealed(4, 12, 700, 3)
    assert store.sealed(THEME, until=YESTERDAY) == Sealed(1, 3, 900, 2)
    assert store.sealed(THEME, since=TODAY) == Sealed(3, 9, 700, 1)
    assert store.sealed(THEME, since=date(2027, 1, 1)) is None
    assert store.sealed(MOBILE) == Sealed(1, 9, 5, 0)
    assert store.sealed(LAYOUT) == Sealed(2, 6, 4, 0)
    assert (store.sealed(LAYOUT, places=(1,)), store.sealed(LAYOUT, places=(0,))) == (Sealed(1, 3, 6, 0), None)


def test_sealed_batches_of_one_commit_are_added_up(store: Store) -> None:
    sent = [sealed_upload(total=total, refused=1) for total in (30, 20, 40)]
    assert store.commit([*sent, sent[1]], TODAY, SHARD) == [COUNTED] * 4
    assert store.sealed(THEME) == Sealed(3, 9, 20, 3)


def test_each_row_counts_once_in_whichever_batch_it_comes(store: Store) -> None:
    """A relay can post one row with any others, and as many times as it likes."""
    first, other, more = (
        sealed_upload(total=total, refused=refused) for total, refused in ((500, 0), (40, 0), (30, 2))
    )
    assert store.commit([first], TODAY, SHARD) == [COUNTED]
    mixed, both = joined(more, first), joined(other, first)
    assert store.commit([mixed, both, mixed], TODAY, OTHER) == [COUNTED] * 3
    assert store.commit([both, joined(both, mixed)], YESTERDAY, SHARD) == [COUNTED] * 2
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, first.rows + other.rows + more.rows))
    assert store.sealed(THEME) == Sealed(3, 9, 30, 2 + 6)  # rows that were counted before hide nobody


def joined(*uploads: Upload) -> Upload:
    """One upload of the rows of several; it has the total of the first."""
    sealings = [sent.sealing for sent in uploads if sent.sealing is not None]
    ids = tuple(name for sent in sealings for name in sent.ids)
    return replace(uploads[0], rows=b"".join(sent.rows for sent in uploads), sealing=sealings[0]._replace(ids=ids))


def test_sealed_batch_that_no_longer_opens_is_known_by_one_of_its_rows(store: Store) -> None:
    first, never = sealed_upload(refused=1), sealed_upload(rows=b"")
    assert first.sealing is not None
    strange = tuple(bytes([number]) * 16 for number in range(9))
    none, lost = (
        replace(first, rows=b"", sealing=Sealing(ids, 500, 9)) for ids in ((*strange, *first.sealing.ids), strange)
    )
    assert store.commit([none], TODAY, SHARD) == [EMPTY]
    assert store.commit([none, first, none, lost, never], TODAY, SHARD) == [COUNTED, COUNTED, COUNTED, EMPTY, EMPTY]
    assert store.commit([none, lost], TODAY, OTHER) == [COUNTED, EMPTY]
    store.definitions.disable("theme", None, TODAY)
    assert store.commit([none, first, lost, sealed_upload()], TODAY, SHARD) == [COUNTED, COUNTED, DISABLED, DISABLED]
    assert store.commit([joined(first, sealed_upload())], TODAY, SHARD) == [DISABLED]  # some of it was never counted
    assert (store.sealed(THEME), store.tally(THEME).total) == (Sealed(1, 3, 500, 1), 3)


def test_batch_under_the_id_of_a_sealed_row_keeps_neither_from_counting(store: Store) -> None:
    first, other = sealed_upload(), sealed_upload()
    assert first.sealing is not None
    assert other.sealing is not None
    assert store.commit([first, upload(name=first.sealing.ids[0])], TODAY, SHARD) == [COUNTED, COUNTED]
    assert store.commit([upload(name=other.sealing.ids[0]), other], TODAY, SHARD) == [COUNTED, COUNTED]
    assert (store.tally(THEME).total, store.sealed(THEME)) == (4 * 3, Sealed(2, 6, 500, 0))


def test_sealed_counts_are_purged_with_their_day(store: Store) -> None:
    for day in (YESTERDAY, TODAY):
        store.commit([sealed_upload()], day, SHARD)
    for removal in removals(store, "theme", None, TODAY):
        assert removal.days == (YESTERDAY,)
        assert removal.rows == 3  # two blocks of tallies, and what came sealed
        removal.carry_out(store)
    assert store.sealed(THEME) == Sealed(1, 3, 500, 0)
