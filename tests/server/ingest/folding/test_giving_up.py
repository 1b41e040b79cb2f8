"""A damaged segment stops a fold until it is put back or given up, and nothing of it is counted twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from dither_server.ingest.folding.giving_up import give_up
from dither_server.ingest.folding.manifest import GivenUp
from dither_server.ingest.folding.run import Step
from dither_server.store import Store
from dither_server.store.errors import SpoolError
from dither_server.store.spool.places import Folder, Place, place_at
from dither_shared import ParameterError
from server.collecting import THEME, rows_of, upload
from server.database import execute, url_of
from server.ingest.folding.runs import NOW, PATIENCE, KilledError, at, folded, folding
from server.ingest.folding.spooling import FILLED, Delivery, assert_same, put, some

EVERY = tuple(range(256))


@pytest.fixture(params=["folder", "memory"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Folder(tmp_path / "spool") if request.param == "folder" else place_at(f"memory://giving-up/{tmp_path.name}")


def content(place: Place, kind: str, name: str) -> bytes:
    with place.open(kind, name) as file:
        return file.read()


def damage(place: Place, name: str, batch: bytes) -> None:
    """Change a bit of a segment where it holds a batch."""
    whole = bytearray(content(place, "segments", name))
    whole[whole.index(batch)] ^= 1
    place.put("segments", name, bytes(whole))


def within(deliveries: Sequence[Delivery], *parts: int) -> list[Delivery]:
    return [one for one in deliveries if one.upload.batch[0] in parts]


def given_up(store: Store, place: Place, *names: str) -> None:
    give_up(store, place, names, PATIENCE, NOW)


def test_a_damaged_segment_stops_it_and_is_named(counts: Store, place: Folder) -> None:
    name = put(place, [Delivery(upload(THEME, rows_of(THEME, 9), b"\xff" * 16))])
    path = place.path / "segments" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for _ in range(2):
        with pytest.raises(SpoolError, match=f"{name} is damaged in bucket 255; restore it .* or give it up"):
            folded(folding(counts, place))
    path.write_bytes(whole)
    assert [report.sums.rows for report in folded(folding(counts, place))] == [9, 0]


def test_a_segment_that_is_gone_before_it_is_counted_is_told(counts: Store, place: Folder) -> None:
    name = put(place, [Delivery(upload(THEME))])
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 1)))
    place.delete("segments", name)
    with pytest.raises(SpoolError, match=f"{name} is gone, and not all of it was counted"):
        folded(folding(counts, place))


def test_all_that_can_be_read_of_it_counts_and_the_rest_when_a_copy_is_put_back(
    counts: Store, either: Place, tmp_path: Path
) -> None:
    others, held = some(80, 1), some(120, 2)
    put(either, others + held[:30])
    name = put(either, held)
    copy = content(either, "segments", name)
    lost = within(held[30:], FILLED[3], FILLED[7])
    damage(either, name, within(held, FILLED[3])[0].upload.batch)
    damage(either, name, within(held, FILLED[7])[0].upload.batch)
    with pytest.raises(SpoolError, match="is damaged"):
        folded(folding(counts, either))
    for _ in range(2):
        given_up(counts, either, f"spool/segments/{name}")
    resumed, nothing = folded(folding(counts, either))
    missing = len(within(held, FILLED[3], FILLED[7]))
    assert resumed.given_up == (GivenUp(name, (FILLED[3], FILLED[7]), (FILLED[3], FILLED[7]), 120, missing),)
    assert (resumed.resumed, resumed.segments, nothing.segments) == (True, 2, 0)
    gone = {one.upload.batch for one in lost}
    assert_same(counts, tmp_path, [one for one in others + held if one.upload.batch not in gone])
    assert either.names("segments") == either.names("runs") == []
    aside = name.replace(".segment", ".damaged")
    assert either.names("damaged") == [aside]
    assert content(either, "damaged", aside) != copy
    assert execute(url_of(tmp_path), "SELECT count(*) FROM fold_runs WHERE NOT finished") == [(0,)]
    given_up(counts, either, name)  # again, as a script might
    assert folded(folding(counts, either))[0].segments == 0
    either.put("segments", name, copy)
    (report,) = folded(folding(counts, either))
    assert (report.sums.batches, report.sums.repeated) == (len(lost), 120 - len(lost))
    assert_same(counts, tmp_path, others + held)


@pytest.mark.parametrize("step", list(Step)[2:])
def test_killed_meanwhile_it_goes_on(counts: Store, place: Folder, tmp_path: Path, step: Step) -> None:
    others, held = some(40, 3), some(60, 4)
    put(place, others)
    name = put(place, held)
    copy = content(place, "segments", name)
    part = FILLED[5]
    damage(place, name, within(held, part)[0].upload.batch)
    with pytest.raises(SpoolError, match="is damaged"):
        folded(folding(counts, place))
    given_up(counts, place, name)
    time = 2 if step in {Step.FOLDED, Step.ADDED, Step.REMEMBERED} else 1
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(step, time)))
    folded(folding(counts, place))
    gone = {one.upload.batch for one in within(held, part)}
    assert_same(counts, tmp_path, others + [one for one in held if one.upload.batch not in gone])
    assert len(place.names("damaged")) == 1
    place.put("segments", name, copy)
    assert folded(folding(counts, place))[0].sums.batches == len(gone)
    assert_same(counts, tmp_path, others + held)


def test_one_whose_head_is_damaged_before_any_run_took_it(counts: Store, place: Folder, tmp_path: Path) -> None:
    put(place, others := some(30, 5))
    name = put(place, some(30, 6))
    place.put("segments", name, b"?" + content(place, "segments", name)[1:])
    with pytest.raises(SpoolError, match=f"{name} is no segment"):
        folded(folding(counts, place))
    given_up(counts, place, name)
    first, second = folded(folding(counts, place))
    assert first.given_up == (GivenUp(name, EVERY, EVERY, None, None),)
    assert (second.sums.batches, second.given_up) == (30, ())
    assert_same(counts, tmp_path, others)


def test_one_that_is_cut_off_or_gone_after_some_of_it_was_counted(counts: Store, place: Folder, tmp_path: Path) -> None:
    put(place, others := some(30, 7))
    names = [put(place, held := some(60, 8)), put(place, some(20, 9))]
    copies = [content(place, "segments", name) for name in names]
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.REMEMBERED, 3)))
    place.put("segments", names[0], copies[0][: copies[0].index(max(one.upload.batch for one in held))])
    place.delete("segments", names[1])
    given_up(counts, place, *names)
    report = folded(folding(counts, place))[0]
    lost = len(within(held, FILLED[-1]))
    last = (FILLED[-1],)
    assert report.given_up == (
        GivenUp(names[0], last, last, 60, lost),
        GivenUp(names[1], EVERY, EVERY[FILLED[2] + 1 :], None, None),
    )
    assert len(place.names("damaged")) == 1  # of one that is gone there is nothing to keep
    for name, copy in zip(names, copies, strict=True):
        place.put("segments", name, copy)
    folded(folding(counts, place))
    assert_same(counts, tmp_path, others + held + some(20, 9))


def test_what_was_counted_before_the_damage_is_not_lost(counts: Store, place: Folder) -> None:
    """A part that is counted already, and one that is found damaged after the first was given up."""
    name = put(place, held := some(90, 10))
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 2)))
    for part in (0, 1, 90):
        damage(place, name, within(held, part)[0].upload.batch)
    given_up(counts, place, name)
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 6)))
    damage(place, name, within(held, 201)[0].upload.batch)
    with pytest.raises(SpoolError, match="is damaged in bucket 201"):
        folded(folding(counts, place))
    given_up(counts, place, name)
    report = folded(folding(counts, place))[0]
    lost = len(within(held, 90, 201))
    assert report.given_up == (GivenUp(name, (0, 1, 90, 201), (90, 201), 90, lost),)
    assert report.sums.batches == 90 - lost


def test_a_copy_that_comes_back_too_early_is_not_taken_for_counted(
    counts: Store, place: Folder, tmp_path: Path
) -> None:
    """After a part without it was counted, and before the ids of that are written."""
    put(place, others := some(90, 15))
    name = put(place, held := some(90, 16))
    copy = content(place, "segments", name)
    damage(place, name, within(held, FILLED[0])[0].upload.batch)
    given_up(counts, place, name)
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 1)))
    place.put("segments", name, copy)
    given_up(counts, place, name)
    folded(folding(counts, place))
    place.put("segments", name, content(place, "damaged", place.names("damaged")[0]))
    folded(folding(counts, place))
    assert_same(counts, tmp_path, others + held)


def test_a_plan_counts_what_is_not_given_up(counts: Store, place: Folder) -> None:
    name = put(place, held := some(60, 11))
    damage(place, name, within(held, FILLED[6])[0].upload.batch)
    given_up(counts, place, name)
    lost = len(within(held, FILLED[6]))
    report = folding(counts, place).plan()
    assert (report.sums.batches, report.given_up) == (60 - lost, (GivenUp(name, (FILLED[6],), (FILLED[6],), 60, lost),))


def test_what_cannot_be_given_up(counts: Store, place: Folder, tmp_path: Path) -> None:
    name = put(place, sent := some(20, 12))
    place.put("segments", "README", b"not ours")
    for other in ("README", "f" * 32 + ".segment", "../dither.db", ""):
        with pytest.raises(ParameterError, match=r"--give-up: .*segments holds no"):
            given_up(counts, place, other)
    with pytest.raises(ParameterError, match=f"{name} is not damaged; a fold counts it"):
        given_up(counts, place, name)
    assert (place.names("runs"), place.names("damaged")) == ([], [])
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 3)))
    with pytest.raises(ParameterError, match="is not damaged"):
        given_up(counts, place, name)
    folded(folding(counts, place))
    assert_same(counts, tmp_path, sent)


class Offline(Folder):
    """A place whose files are there, and cannot be read at this time."""

    def open(self, kind: str, name: str) -> BinaryIO:
        class Broken:
            seek = close = staticmethod(lambda *_: None)

            def read(self, *_: int) -> NoReturn:
                raise OSError(5, "offline")

        return Broken() if kind == "segments" else super().open(kind, name)  # type: ignore[return-value]  # what is asked


def test_what_cannot_be_read_at_this_time_is_no_damage(counts: Store, place: Folder) -> None:
    name = put(place, some(20, 13))
    with pytest.raises(SpoolError, match="cannot be read"):
        given_up(counts, Offline(place.path), name)
    assert place.names("runs") == []


def test_it_is_kept_before_it_is_deleted(counts: Store, place: Folder, tmp_path: Path) -> None:
    name = put(place, held := some(60, 14))
    damage(place, name, within(held, FILLED[6])[0].upload.batch)
    torn = content(place, "segments", name)
    given_up(counts, place, name)

    class Killed(Folder):
        def delete(self, kind: str, name: str) -> None:
            if kind == "segments":
                raise KilledError
            super().delete(kind, name)

    for _ in range(2):
        with pytest.raises(KilledError):
            folded(folding(counts, Killed(place.path)))
    assert content(place, "damaged", name.replace(".segment", ".damaged")) == content(place, "segments", name) == torn
    folded(folding(counts, place))
    assert place.names("segments") == place.names("runs") == []
    assert_same(counts, tmp_path, [one for one in held if one.upload.batch[0] != FILLED[6]])
