"""Everything at full size: about an hour on two cores. ``python -m tests.torture [--share 0.1] [NAME ...]``.

Each part stands alone, so that it can be run, or run again, by itself: kill, power, deliveries, slow, lock, disk,
costs, fuzz, spool, fold, sealed, replay, several, opening, relay, pipelines, resets, hoards, frames.
"""

import argparse
import logging
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from dither_server.app import collector_of, create_app
from server.collecting import config
from server.postgresql import WHY_NOT, fresh, server
from torture.costs import TABLE, TREND, Size, costly, late
from torture.deliveries import deliveries
from torture.fold import fold_rounds
from torture.fuzz import fuzz
from torture.hostile_peers import SERVERS, grown, hoards, lines_of_resets, misread, running, waits
from torture.kill import kill_cycles
from torture.opening import ATTACKS, flooded
from torture.power import can_record, power_cuts, relay_power_cuts, spool_power_cuts
from torture.replay import replayed
from torture.sealed import sealed_rounds
from torture.several import several
from torture.slow import raise_files, slow_clients
from torture.trouble import can_fill, full_disk, full_relay, locked

Part = Callable[[Path, float], str]
PARTS: dict[str, Part] = {}


def part(name: str) -> Callable[[Part], Part]:
    """Return a decorator that adds a part under a name."""

    def add(run: Part) -> Part:
        PARTS[name] = run
        return run

    return add


@part("kill")
def kill(folder: Path, share: float) -> str:
    cycles = max(1, int(500 * share))
    return f"kill -9, {cycles} cycles: {kill_cycles(folder, cycles):,} reports, each counted once"


@part("power")
def power(folder: Path, share: float) -> str:
    return _cut_power(folder, share, power_cuts, "power cuts")


@part("relay")
def relay(folder: Path, share: float) -> str:
    return _cut_power(folder, share, relay_power_cuts, "power cuts on a relay")


@part("spool")
def spool(folder: Path, share: float) -> str:
    return _cut_power(folder, share, spool_power_cuts, "power cuts on a spool")


def _cut_power(folder: Path, share: float, cuts: Callable[..., list[str]], what: str) -> str:
    if why_not := can_record():
        return f"{what}: not tried, {why_not}"
    points = max(20, int(2000 * share))
    wrong = {}
    logging.disable(logging.ERROR)  # without fsync most cuts leave damage, and each would be logged
    for durable in (True, False):
        (folder / str(durable)).mkdir()
        wrong[durable] = len(cuts(folder / str(durable), points, durable=durable))
    logging.disable(logging.NOTSET)
    assert wrong[True] == 0
    assert wrong[False] > 0
    message = f"{what}, {points:,} points: nothing acknowledged lost, nothing corrupt"
    return f"{message}; without fsync wrong at {wrong[False]:,}"


@part("deliveries")
def deliver(folder: Path, share: float) -> str:
    examples = max(1, int(100 * share))
    deliveries(examples)
    return f"deliveries cut, doubled, at the same time and through kill -9: {examples} sequences, counts exact"


@part("slow")
def slow(folder: Path, share: float) -> str:
    count = max(200, int(5000 * share))
    raise_files(count + 1000)
    seconds = slow_clients(folder, count, 64, max(2, int(100 * share)))
    last = seconds[int(0.99 * len(seconds))]
    assert last < 1.0, last
    return f"{count:,} slow clients: 64 healthy ones, {len(seconds):,} requests, p99 {1000 * last:.0f} ms"


@part("lock")
def lock(folder: Path, share: float) -> str:
    held = max(1.0, 60 * share)
    seen, last = locked(folder, held)
    assert last < 1.0, last
    summary = f"database locked for {held:.0f} s: {dict(seen)}, none acknowledged, all taken after it"
    return f"{summary}; estimates during the lock, p99 {1000 * last:.0f} ms"


@part("disk")
def disk(folder: Path, share: float) -> str:
    if why_not := can_fill():
        return f"full disk: not tried, {why_not}"
    seen, acknowledged = full_disk(folder)
    full = f"full disk: {acknowledged} batches before, then {dict(seen)}; counts exact, all taken when there was room"
    held, forwarded, refused = full_relay(folder)
    return (
        f"{full}\nfull disk at a relay: {held:,} reports held, {forwarded:,} forwarded once, {dict(refused)} while full"
    )


@part("costs")
def costs(folder: Path, share: float) -> str:
    size = Size(days=max(2, int(365 * share)), values=max(200, int(16_384 * share)), candidates=int(100_000 * share))
    seen = costly(folder, size)
    assert seen.peak < 500, seen.peak
    assert late(seen.seconds) < 0.2, late(seen.seconds)
    wide = f"{size.days} days of {size.values:,} values as trend ({seen.sizes[TREND] / 1e6:.0f} MB) and table"
    summary = f"{wide} ({seen.sizes[TABLE] / 1e6:.0f} MB), {size.candidates:,} candidates, {size.rude} hang-ups at once"
    spent = f"{seen.processor:.0f} s of processor, {seen.peak:.0f} MiB beyond rest"
    reports = f"{len(seen.seconds):,} reports, p99 {1000 * late(seen.seconds):.0f} ms"
    return f"{summary}: {spent}; {reports} during them, {1000 * late(seen.calm):.0f} ms before"


@part("fuzz")
def garble(folder: Path, share: float) -> str:
    app = create_app(config(folder))
    with closing(collector_of(app)):
        fuzz(app, 5_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seen = fuzz(app, int(1_000_000 * share), seed=2)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000, grown
    return f"fuzz: {seen.total():,} bodies, {dict(sorted(seen.items()))}, {grown:,} KiB more memory"


@part("fold")
def fold(folder: Path, share: float) -> str:
    rounds = max(3, int(100 * share))
    seen = fold_rounds(folder, rounds)
    done = f"{rounds} rounds, {seen.reports:,} reports in {seen.deliveries:,} deliveries"
    killed = ", ".join(f"{kind} {count}" for kind, count in sorted(seen.kills.items()))
    return f"spool and fold: {done}, kill -9 ({killed}); {seen.tallies:,} tallies compared, each right"


@part("sealed")
def seal(folder: Path, share: float) -> str:
    lines = [_sealed("SQLite", max(5, int(80 * share)), folder / "sqlite", (None, None))]
    with server() as url:
        if url is None:
            return f"{lines[0]}; PostgreSQL: {WHY_NOT}"
        lines.append(_sealed("PostgreSQL", max(5, int(20 * share)), folder / "postgresql", (fresh(url), fresh(url))))
    return "\n".join(lines)


def _sealed(database: str, rounds: int, folder: Path, urls: tuple[str | None, str | None]) -> str:
    folder.mkdir()
    seen = sealed_rounds(folder, rounds, urls=urls)
    done = f"{rounds} rounds, {seen.reports:,} sealed reports in {seen.deliveries:,} deliveries"
    killed = ", ".join(f"{kind} {count}" for kind, count in sorted(seen.kills.items()))
    return (
        f"relay and collector on {database}: {done}, kill -9 ({killed}); each counted once, and none left at the relay"
    )


@part("replay")
def replay(folder: Path, share: float) -> str:
    bodies = max(10, int(100 * share))
    counted, _ = replayed(folder, bodies)
    return f"one row in {4 * bodies} bodies of two relays: {counted - 1} others, and it, each counted once"


@part("several")
def several_relays(folder: Path, share: float) -> str:
    lost = several(folder, max(2, int(40 * share)))
    summary = f"two relays, two collectors, keys rotated, kill -9: {lost.counted:,} reports, each counted once"
    return f"{summary}; of a key retired too early {lost.unread} unread, {lost.kept} kept"


@part("opening")
def opening(folder: Path, share: float) -> str:
    delays = []
    for number, attack in enumerate(ATTACKS):
        (folder / str(number)).mkdir()
        waits = flooded(folder / str(number), attack, max(2, int(20 * share)))
        last = max(wait.seconds for wait in waits)
        assert last < 5, waits
        delays.append(f"{attack}: {last:.1f} s")
    return f"12,000 rows of a relay beside six connections with as many ({'; '.join(delays)} at most)"


@part("pipelines")
def pipeline(folder: Path, share: float) -> str:
    figures, late = [], False
    for name in SERVERS:
        for peers in (60, 99):
            with running(name, folder) as target:
                seconds = waits(target, peers, max(20, int(200 * share)))
            p99, longest = seconds[int(0.99 * len(seconds))], seconds[-1]
            late = late or p99 > 0.2 or longest > 1.0
            figures.append(f"{name}, {peers} peers: p99 {1000 * p99:.0f} ms, longest {1000 * longest:.0f} ms")
    text = f"honest reports beside pipelines of refused requests: {'; '.join(figures)}"
    assert not late, text
    return text


@part("resets")
def reset(folder: Path, share: float) -> str:
    lines = {name: lines_of_resets(name, folder, max(1.0, 8 * share)) for name in SERVERS}
    assert max(lines.values()) < 20, lines
    return f"lines logged of peers that pipeline 4 MB and reset: {lines}"


@part("hoards")
def hoard(folder: Path, share: float) -> str:
    connections, figures = max(50, int(1000 * share)), {}
    raise_files(connections + 1000)
    for name in SERVERS:
        with running(name, folder) as target:
            attacks = hoards(target, connections)
        for kind, peers in attacks.items():
            with running(name, folder) as target:
                figures[f"{name}, {kind}"] = round(grown(target, peers))
    text = f"MiB beyond rest with {connections:,} hostile connections: {figures}"
    assert max(figures.values()) <= 64, text
    return text


@part("frames")
def frame(folder: Path, share: float) -> str:
    wrong = {}
    for name in SERVERS:
        with running(name, folder) as target:
            wrong[name] = misread(target)
    assert not any(wrong.values()), wrong
    return "frames that could be misread: each has the one answer that it must have"


def main() -> None:
    """Run the parts that are named, or each."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"run these parts: {', '.join(PARTS)}; all if none is named"
    )
    parser.add_argument("--share", type=float, default=1.0, help="scale the full size by this share")
    options = parser.parse_args()
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    for name in options.names or PARTS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            summary = PARTS[name](Path(place), options.share)
        print(f"{summary} ({time.monotonic() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
