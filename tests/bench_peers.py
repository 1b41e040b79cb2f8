"""Accuracy and speed beside pure-ldp and multi-freq-ldpy: ``python -m tests.bench_peers``, part of ``make bench``.

Each peer runs in an environment of its own, built in a cache folder; nothing of theirs is in the tree.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # where the tests' own modules are found, as under pytest

from peers.bench import main

if __name__ == "__main__":
    main()
