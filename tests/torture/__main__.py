"""Everything at full size: about twenty minutes on two cores. ``python -m tests.torture [SHARE]``, for example 0.1."""

import resource
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from dither_server.app import collector_of, create_app
from server.collecting import config
from torture.fuzz import fuzz
from torture.kill import kill_cycles
from torture.power import can_record, power_cuts
from torture.slow import slow_clients


def main(share: float = 1.0) -> None:
    """Run each, at a share of its full size."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("kill", "slow", "fuzz", "power", "off"):
            (folder / name).mkdir()
        cycles = max(1, int(500 * share))
        print(f"kill -9, {cycles} cycles: {kill_cycles(folder / 'kill', cycles):,} reports, each counted once")
        why_not, points = can_record(), max(20, int(2000 * share))
        if why_not is None:
            assert power_cuts(folder / "power", points) == []
            print(f"power cuts, {points:,} points: nothing acknowledged lost, nothing corrupt")
            wrong = len(power_cuts(folder / "off", points, synchronous="OFF"))
            print(f"the same with synchronous=OFF: wrong at {wrong:,} points")
            assert wrong
        else:
            print(f"power cuts: not tried, {why_not}")
        seconds = slow_clients(folder / "slow", 200, 64, max(2, int(100 * share)))
        last = seconds[int(0.99 * len(seconds))]
        print(f"200 slow clients: 64 healthy ones, {len(seconds):,} requests, p99 {1000 * last:.0f} ms")
        assert last < 1.0
        app = create_app(config(folder / "fuzz"))
        with closing(collector_of(app)):
            fuzz(app, 5_000)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seen = fuzz(app, int(1_000_000 * share), seed=2)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"fuzz: {seen.total():,} bodies, {dict(sorted(seen.items()))}, {grown:,} KiB more memory")
        assert grown < 50_000


if __name__ == "__main__":
    main(*(float(argument) for argument in sys.argv[1:2]))
