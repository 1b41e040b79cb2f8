from dither_server.observability.prometheus import Prometheus
from dither_server.observability.spool_gauges import SpoolGauges
from dither_server.store.errors import SpoolError
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


def shown(gauges: SpoolGauges) -> dict[str, float]:
    lines = Prometheus().text(gauges.families()).decode().splitlines()
    parts = (line.split() for line in lines if line.startswith("dither_spool_"))
    return {name.removeprefix("dither_spool_"): float(value) for name, value in parts}


def test_a_spool_is_told_of_and_not_asked_more_often_than_it_is_worth() -> None:
    rooms, now = Told(), [0.0]
    gauges = SpoolGauges(rooms, lambda: now[0])
    for _ in range(2):
        assert shown(gauges) == {"up": 1, "open_bytes": 5, "segments": 1, "damaged_files": 2, "free_bytes": 1e9}
    now[0] = 10.0
    assert shown(gauges)["segments"] == 2
    rooms.failure, now[0] = SpoolError("spool: gone"), 20.0
    assert shown(gauges) == {"up": 0}
