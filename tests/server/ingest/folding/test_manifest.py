"""What says which segments belong to a run."""

import json

import pytest

from dither_server.store import Store
from dither_server.store.errors import SpoolError
from dither_server.store.spool.places import Folder
from server.ingest.folding.runs import NOW, folded, folding

MANIFEST = {"format": 1, "begun": NOW.isoformat(), "segments": []}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (json.dumps(MANIFEST | {"format": 2}).encode(), "format 2, this program knows 1"),
        (json.dumps(MANIFEST | {"segments": ["../../dither.db"]}).encode(), "what is no segment"),
        (
            json.dumps(MANIFEST | {"begun": "2026-08-01T00:00:00+00:00"}).encode(),
            "the database does not know whether it was counted",
        ),
        (json.dumps(MANIFEST | {"begun": "2026-11-21T14:05:09"}).encode(), "says no time zone"),
        (json.dumps(MANIFEST | {"begun": "9999-12-31T23:59:59-14:00"}).encode(), "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_a_manifest_that_cannot_be(counts: Store, place: Folder, content: bytes, why: str) -> None:
    place.put("runs", "a" * 32 + ".json", content)
    with pytest.raises(SpoolError, match=why):
        folded(folding(counts, place))
