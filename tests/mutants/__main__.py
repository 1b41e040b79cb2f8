"""Draw mutants and try to kill them: ``python -m tests.mutants [--count 100] [--seed 1] [--room NAME] [--all]``.

Or try all of one line, once a test for a survivor is written: ``python -m tests.mutants --line FILE:NUMBER``.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants.mutating import Mutant, mutants_of
from mutants.rooms import ROOMS, equivalents
from mutants.running import Copy

_T = TypeVar("_T")
_TREE = Path(__file__).parents[2]
_TARGET = 0.97
"""The share of mutants, those known to be equivalent left out, that must die."""

_DEAD = {"killed", "stopped"}


@dataclass(frozen=True)
class Drawn:
    """A mutant with the line that it changes, before and after."""

    mutant: Mutant
    before: str
    after: str


def sample(rooms: Sequence[str], count: int, seed: int) -> list[Drawn]:
    """Return ``count`` mutants, equally many from each room while it has some, without known equivalents."""
    in_turn = chain.from_iterable(zip_longest(*(_of_room(room, seed) for room in rooms)))
    return list(islice((drawn for drawn in in_turn if drawn is not None), count))


def of_line(line: str) -> list[Drawn]:
    """Return every mutant of a line, FILE:NUMBER, in the first room that mutates it."""
    mutants = (list(_of_room(room, 0, line)) for room in ROOMS)
    return next((drawn for drawn in mutants if drawn), [])


def _of_room(room: str, seed: int, line: str | None = None) -> Iterator[Drawn]:
    every = [mutant for path in ROOMS[room].files(_TREE) for mutant in mutants_of(room, path, _TREE)]
    every = [mutant for mutant in every if line in {None, mutant.place}]
    random.Random(f"{seed} {room}").shuffle(every)
    same = equivalents()
    for mutant in every:
        source = (_TREE / mutant.file).read_text(encoding="utf-8")
        before, after = mutant.change(source)
        known = same.keys() & {(mutant.file, after), (mutant.file, f"any change of {before}")}
        if before != after and not known and _compiles(mutant.code(source)):
            yield Drawn(mutant, before, after)


def _compiles(code: str) -> bool:
    """Return whether a mutant is Python at all: ``**`` may stand before an argument, too."""
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def fates(mutants: Sequence[Mutant], jobs: int, *, slow: bool) -> Iterator[tuple[Mutant, str]]:
    """Yield the fate of each mutant under the tests that ``make test`` runs, or under all of them."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies = [Copy(_TREE, Path(folder) / str(number), slow=slow) for number in range(jobs)]
        free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            free.put(copy)

        def borrowed(use: Callable[[Copy], _T]) -> _T:
            copy = free.get()
            try:
                return use(copy)
            finally:
                free.put(copy)

        rooms = sorted({mutant.room for mutant in mutants})
        unchanged = dict(
            zip(rooms, pool.map(lambda room: borrowed(lambda copy: copy.try_unchanged(room)), rooms), strict=True)
        )
        print("seconds of the tests:", ", ".join(f"{room} {unchanged[room][0]:.0f}" for room in rooms), flush=True)

        def fate(mutant: Mutant) -> str:
            seconds, covering = unchanged[mutant.room]
            return borrowed(lambda copy: copy.fate(mutant, 60 + 4 * seconds, covering))

        yield from zip(mutants, pool.map(fate, mutants), strict=True)


def main() -> int:
    """Print every mutant's fate, then the survivors again; return 1 if there are too many."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="number of mutants to draw")
    parser.add_argument("--seed", type=int, default=1, help="draw others with another number")
    parser.add_argument("--jobs", type=int, default=2, help="number of test processes at a time")
    parser.add_argument("--room", choices=ROOMS, action="append", help="mutate this room; may be given several times")
    parser.add_argument("--line", metavar="FILE:NUMBER", help="draw none, but try all mutants of this line")
    parser.add_argument("--all", action="store_true", help="run slow tests too, as make test-all does")
    options = parser.parse_args()
    drawn = of_line(options.line) if options.line else sample(options.room or list(ROOMS), options.count, options.seed)
    became: Counter[str] = Counter()
    survivors = []
    ended = fates([change.mutant for change in drawn], options.jobs, slow=options.all)
    for number, (one, (mutant, fate)) in enumerate(zip(drawn, ended, strict=True), start=1):
        print(f"{number:4} {fate:8} {mutant.place}  {one.before}  ->  {one.after}", flush=True)
        became[fate] += 1
        if fate not in _DEAD:
            survivors.append(one)
    summary = ", ".join(f"{count} {fate}" for fate, count in became.most_common())
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} died (seed {options.seed}: {summary}); the others:")
    for one in survivors:
        print(f"  {one.mutant.place}\n    - {one.before}\n    + {one.after}")
    return int(len(survivors) > (1 - _TARGET) * len(drawn))


if __name__ == "__main__":
    sys.exit(main())
