from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store, UnmadeError
from dither_server.store.errors import SpoolError
from dither_server.store.spool.owner import claim, require_owner
from dither_server.store.spool.places import Folder, Place, place_at
from dither_shared import ParameterError
from server.database import url_of

OURS, OTHER = "0" * 32, "f" * 32


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Folder(tmp_path / "spool") if request.param == "folder" else place_at(f"memory://{tmp_path.name}/spool")


def test_a_place_is_a_spool_once_it_is_claimed(place: Place) -> None:
    place.put("segments", "x", b"of somebody")
    with pytest.raises(UnmadeError, match=r"^spool: .*spool is no spool: no collector has made it yet"):
        require_owner(place, OURS)
    for _ in range(2):
        claim(place, OURS)
    require_owner(place, OURS)


def test_a_spool_of_another_database_names_both(place: Place) -> None:
    claim(place, OTHER)
    for attempt in (claim, require_owner):
        with pytest.raises(ParameterError, match=f"is of the database {OTHER}, and db is {OURS}"):
            attempt(place, OURS)
    require_owner(place, OTHER)


def test_of_two_databases_at_once_neither_is_taken(tmp_path: Path) -> None:
    class Late(Folder):
        def put(self, kind: str, name: str, content: bytes) -> None:
            for each in (OTHER, name):
                super().put(kind, each, content)

    with pytest.raises(ParameterError, match=OTHER):
        claim(Late(tmp_path), OURS)


@pytest.mark.parametrize("was_written", [True, False])
def test_of_two_collectors_at_once_either_may_write(tmp_path: Path, was_written: bool) -> None:
    """They share the file under which it is written, so one of them may find it gone."""

    class Raced(Folder):
        def put(self, kind: str, name: str, content: bytes) -> None:
            if was_written:
                super().put(kind, name, content)
            raise SpoolError("spool: cannot be written")

    if was_written:
        claim(Raced(tmp_path), OURS)
        require_owner(Raced(tmp_path), OURS)
    else:
        with pytest.raises(SpoolError, match="cannot be written"):
            claim(Raced(tmp_path), OURS)


def test_a_database_keeps_its_name_and_no_other_has_it(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    names = []
    for folder in (tmp_path, tmp_path, tmp_path / "other"):
        with closing(Store(url_of(folder))) as store:
            names.append(store.identity())
    assert names[0] == names[1] != names[2]
    assert {len(bytes.fromhex(name)) for name in names} == {16}
