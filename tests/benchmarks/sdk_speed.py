"""The client beside sentry-sdk and posthog: ``python -m tests.benchmarks.sdk_speed``, part of ``make bench``.

Each library runs in an environment of its own, built in a cache folder, and talks to nothing but loopback.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the tests' own modules are found, as under pytest

from benchmarks.sdks.bench import main

if __name__ == "__main__":
    main()
