"""The bytes of a body show its kind, metric, version and stratum."""

import pytest

from client.devices import METRICS
from client.seals import sealing, shut
from dither.reporting.bodies import CLEAR, SEALED, kind_for, kind_of, read
from dither_shared import Batch, WireError

STRATA = (None, "linux", "mac os/beta", "linüx")


@pytest.mark.parametrize("stratum", STRATA)
def test_body_of_either_kind_shows_metric_version_and_stratum(stratum: str | None) -> None:
    batch = Batch("a" * 32, "theme", "b" * 16, b"row", stratum)
    clear, closed = batch.encode(), shut(batch)
    assert (kind_of(clear), kind_of(closed)) == (CLEAR, SEALED)
    assert read(clear) == ("theme", "b" * 16, stratum, b"row")
    assert read(closed) == ("theme", "b" * 16, stratum, b"")


@pytest.mark.parametrize("body", [b"", b"{}", b'{"pool":"theme"}', b'{"pool"', b"\xff"])
def test_body_that_no_client_wrote_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        read(body)


def test_kind_of_bodies_follows_from_the_seal_keys() -> None:
    assert kind_for(METRICS.values()) is CLEAR
    assert kind_for(sealing().values()) is SEALED
    assert kind_for([]) is CLEAR
