"""The state of a relay, read from its database: as JSON for programs, and as lines for a terminal."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any

from dither_server.cli.terminal_tables import aligned, printable
from dither_serving.problems import StoreError
from dither_shared.counted import counted

from .forwarding.forwarder import following, is_overdue
from .forwarding.rounds import TROUBLE
from .store import RelayStore

_COUNTS = ("waiting", "frozen", "forwarded", "unread", "dropped")


def status_of(store: RelayStore, batch: int, at: time, now: datetime) -> dict[str, Any]:
    """Return pools, counts, the next hour and the last trouble."""
    last, state = store.last_hour(), store.state()
    return {
        "pools": [one._asdict() | {"named": one.is_named} for one in store.held()],
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
    named = [one for one in pools if one["named"]]
    for one in named:
        numbers = [f"{one[name]:,}" for name in _COUNTS]
        rows.append([printable(one["pool"]), one["suite"], *numbers, "" if one["listed"] else "no longer listed"])
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
