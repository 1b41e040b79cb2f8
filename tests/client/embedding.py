"""What it costs to embed dither, beside sentry-sdk and posthog: ``python -m client.embedding`` in tests/.

Each library runs in a Python environment of its own, built once in a cache folder, with the server down: nobody listens
on the port, or whoever listens never answers. All in one run, so that the ratios mean something on any machine.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dither
import dither_shared

__all__ = ["main"]

PINS = {"sentry-sdk": "sentry-sdk==2.75.0", "posthog": "posthog==7.91.1"}

_FLOORS = [str(Path(module.__file__ or "").parents[1]) for module in (dither, dither_shared)]
_DITHER = f"""
import sys; sys.path[:0] = {_FLOORS!r}
import dither, datetime
day = datetime.date(2026, 11, 18).toordinal()
client = dither.Client(FOLDER + "/metrics.toml", f"http://127.0.0.1:{{PORT}}", "bench", FOLDER + "/state" + MARK,
                       environ={{}}, today=lambda: datetime.date.fromordinal(day))
client.consent("on")
def record(call):
    client.record("browser", "firefox")
"""
_NEXT_DAY = """
def before(call):
    global day
    day += 1
"""

PROGRAMS = {
    "nothing": "import sys\ndef record(call): pass\n",
    "dither, a report each call": _DITHER + _NEXT_DAY,
    "dither, one report a day": _DITHER,
    "sentry-sdk": """
import sentry_sdk
sentry_sdk.init(dsn=f"http://key@127.0.0.1:{PORT}/1")
def record(call):
    sentry_sdk.capture_message("browser firefox")
""",
    "posthog": """
import logging, posthog
logging.disable()
client = posthog.Posthog("key", host=f"http://127.0.0.1:{PORT}")
def record(call):
    client.capture("browser", distinct_id="x", properties={"value": "firefox"})
""",
}

_MEASURE = """
import time, json
def memory(): return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
before = globals().get("before", lambda call: None)
taken = []
for call in range(CALLS):
    before(call)
    start = time.perf_counter_ns()
    record(call)
    taken.append(time.perf_counter_ns() - start)
taken.sort()
time.sleep(0.3)
found = {"p50": taken[len(taken) // 2] / 1e3, "p99": taken[len(taken) * 99 // 100] / 1e3, "memory": memory()}
print(json.dumps(found | {"end": time.time()}), flush=True)
"""


def measure(python: str, program: str, port: int, folder: str, calls: int) -> dict[str, float]:
    """Return what one run of a program shows: microseconds, kilobytes, seconds from its last line to its end."""
    prelude = f"PORT, FOLDER, CALLS, MARK = {port}, {folder!r}, {calls}, {str(time.time_ns())!r}\n"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [python, "-c", prelude + program + _MEASURE], capture_output=True, text=True, check=True, env=clean
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found | {"exit": time.time() - found["end"]}


def importing(python: str, module: str, rounds: int = 9) -> float:
    """Return the least milliseconds of a Python that imports a module and ends."""
    best = float("inf")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(rounds):
        start = time.perf_counter()
        code = f"import sys; sys.path[:0] = {_FLOORS!r}; import {module}"
        subprocess.run([python, "-c", code], check=True, env=clean)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def environment(name: str, folder: Path) -> str:
    """Return the Python of a library's environment, which is built if need be."""
    if name not in PINS:
        return sys.executable
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PINS[name]], check=True)
    return str(python)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="What it costs to embed dither.")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dither" / "embedding"
    parser.add_argument("--environments", type=Path, default=cache, metavar="FOLDER")
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    print(f"{'the server never answers':30}{'p50 us':>9}{'p99 us':>9}{'MB more':>9}{'exit s':>9}")
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0), backlog=128) as silent:
        Path(folder, "metrics.toml").write_text('[metrics.browser]\ntype = "string"\nepsilon = 1.0\n')
        port, bare = silent.getsockname()[1], 0.0
        for name, program in PROGRAMS.items():
            try:
                python = environment(name, options.environments)
                found = measure(python, program, port, folder, options.calls)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name:30}  not measured: {type(error).__name__}")
                continue
            bare = bare or found["memory"]
            more = (found["memory"] - bare) / 1024
            print(f"{name:30}{found['p50']:9.1f}{found['p99']:9.1f}{more:9.1f}{found['exit']:9.2f}")
    homes = {"sys": "", "dither": "", "dither.client": "", "sentry_sdk": "sentry-sdk", "posthog": "posthog"}
    for module, name in homes.items():
        print(f"import {module:23}{importing(environment(name, options.environments), module):9.1f} ms")


if __name__ == "__main__":
    main()
