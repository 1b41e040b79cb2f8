"""The state of a relay's database: as gauges for Prometheus, JSON for programs, and lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from typing import Any, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family

from dither_server.cli.terminal_tables import aligned, printable
from dither_server.prometheus import of_disk, of_up
from dither_server.store import Disk
from dither_serving.problems import StoreError
from dither_serving.prometheus import gauge
from dither_shared.counted import counted

from .forwarding import TROUBLE, following, is_overdue
from .store import Held, RelayStore

_LABELS = ("pool", "suite")

_COUNTS = ("waiting", "frozen", "forwarded", "unread", "dropped")


def status_of(store: RelayStore, batch: int, at: time, now: datetime) -> dict[str, Any]:
    """Return pools, counts, the next hour and the last trouble."""
    last, state = store.last_hour(), store.state()
    return {
        "pools": [pool._asdict() | {"named": pool.is_named} for pool in store.held()],
        "batch": batch,
        "last": last and last.isoformat(),
        "next": following(now, at, last).isoformat(timespec="minutes"),
        "overdue": is_overdue(now, at, last),
        "trouble": "; ".join(filter(None, (_of_disk(store), state.get(TROUBLE)))) or None,
    }


def _of_disk(store: RelayStore) -> str:
    """Return why the relay takes no reports, or "" if it does."""
    try:
        store.require_room()
    except StoreError as error:
        return str(error)
    return ""


def as_lines(status: Mapping[str, Any]) -> list[str]:
    """Return the lines of a status."""
    return [*_pools(status["pools"]), "", *_hours(status)]


def _pools(pools: Sequence[Mapping[str, Any]]) -> list[str]:
    if not pools:
        return ["no pools: the collector has listed none yet, or has no key to seal for"]
    rows = [["pool", "suite", *_COUNTS, ""]]
    named = [pool for pool in pools if pool["named"]]
    for pool in named:
        numbers = [f"{pool[name]:,}" for name in _COUNTS]
        rows.append([printable(pool["pool"]), pool["suite"], *numbers, "" if pool["listed"] else "no longer listed"])
    unnamed = counted(len(pools) - len(named), "pool is", "pools are")
    more = [f"{unnamed} listed, but no report has come; the first report names its pool"] if pools != named else []
    return [*(aligned(rows) if named else []), *more]


def _hours(status: Mapping[str, Any]) -> list[str]:
    day, hour = status["next"][:10], status["next"][11:16]
    once = (
        f"at {hour} UTC, next on {day}, forwards each pool whose period is over with at least "
        f"{counted(status['batch'], 'waiting report')}"
    )
    last = f"last forwarding hour: {status['last']}" if status["last"] else "no forwarding hour yet"
    late = "; overdue: is a relay running?" if status["overdue"] else ""
    return [f"{once}; {last}{late}", f"trouble: {printable(status['trouble'])}" if status["trouble"] else "no trouble"]


class RelayCondition(NamedTuple):
    """The state of a relay's database: its pools, its disk, whether an hour was missed, and the last failures.

    ``disk`` is None if the database is on another machine.
    """

    held: Sequence[Held]
    disk: Disk | None
    is_overdue: bool
    troubles: Sequence[str]


def relay_gauges(known: RelayCondition | None, is_ready: bool, rejected: int) -> Iterator[Family]:
    """Yield all gauges of a relay; if the condition of its database is not known, only those that need none."""
    yield gauge("dither_relay_ready", "Whether reports are taken, as /readyz says: 1 or 0.", is_ready)
    about = "Bodies of this round that the collector rejected; they are kept for the next."
    yield gauge("dither_relay_rejected_bodies", about, rejected)
    yield of_up(known is not None)
    if known is not None:
        yield from _families(known)


def _families(known: RelayCondition) -> Iterator[Family]:
    yield from of_disk(known.disk)
    about = "1 if the last try to ask or to post failed."
    yield gauge("dither_relay_trouble", about, bool(known.troubles))
    yield gauge(
        "dither_relay_overdue", "1 if the hour to forward has come and nothing was forwarded.", known.is_overdue
    )
    gauges = {"waiting": "wait until there are enough", "frozen": "are in a batch that is being forwarded"}
    for name, about in gauges.items():
        family = GaugeMetricFamily(f"dither_relay_{name}", f"Sealed reports that {about}.", labels=_LABELS)
        yield _of_pools(family, name, known.held)
    counts = {
        "forwarded": "the collector has taken",
        "unread": "the collector has taken and could not read",
        "dropped": "were dropped because they became too old",
    }
    for name, about in counts.items():
        counter = CounterMetricFamily(f"dither_relay_{name}", f"Sealed reports that {about}.", labels=_LABELS)
        yield _of_pools(counter, name, known.held)


def _of_pools(family: GaugeMetricFamily | CounterMetricFamily, name: str, held: Sequence[Held]) -> Family:
    for pool in held:
        if not pool.is_named:  # otherwise its series would change their name with the first report
            continue
        family.add_metric([pool.pool, pool.suite], getattr(pool, name))
    return family
