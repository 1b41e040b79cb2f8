from datetime import UTC, datetime

from dither_server.observability.prometheus import Prometheus
from dither_server.observability.spool_gauges import SpoolGauges
from dither_server.store.errors import SpoolError, StoreError
from dither_server.store.spool.rooms import Backlog


class Told:
    """Rooms that say what they are told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.failure: Exception | None = None

    def backlog(self) -> Backlog:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return Backlog(5, self.asked, 2, 10**9)


class Folds:
    """Folds of which the last began when they are told."""

    begun: datetime | None = None
    failure: Exception | None = None

    def up_to(self) -> datetime | None:
        if self.failure is not None:
            raise self.failure
        return self.begun


def shown(gauges: SpoolGauges) -> dict[str, float]:
    lines = Prometheus().text(gauges.families()).decode().splitlines()
    parts = (line.split() for line in lines if line.startswith("dither_spool_"))
    return {name.removeprefix("dither_spool_"): float(value) for name, value in parts}


def test_a_spool_is_told_of_and_not_asked_more_often_than_it_is_worth() -> None:
    rooms, now = Told(), [0.0]
    gauges = SpoolGauges(rooms, Folds(), lambda: now[0])
    for _ in range(2):
        assert shown(gauges) == {"up": 1, "open_bytes": 5, "segments": 1, "damaged_files": 2, "free_bytes": 1e9}
    now[0] = 10.0
    assert shown(gauges)["segments"] == 2
    rooms.failure, now[0] = SpoolError("spool: gone"), 20.0
    assert shown(gauges) == {"up": 0}


def test_when_the_last_fold_began_is_told_once_there_is_one() -> None:
    rooms, folds, now = Told(), Folds(), [0.0]
    gauges = SpoolGauges(rooms, folds, lambda: now[0])

    def told() -> list[str]:
        lines = Prometheus().text(gauges.families()).decode().splitlines()
        return [line for line in lines if line.startswith("dither_folded")]

    assert told() == []
    folds.begun, now[0] = datetime(2026, 11, 20, 14, 5, tzinfo=UTC), 10.0
    (line,) = told()
    assert line.split() == ["dither_folded_up_to_timestamp_seconds", "1.7951835e+09"]
    rooms.failure, now[0] = SpoolError("spool: gone"), 20.0
    assert len(told()) == 1  # of which the spool knows nothing
    folds.failure, now[0] = StoreError("database: gone"), 30.0
    assert told() == []
