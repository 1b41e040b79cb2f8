"""One distribution: the client alone needs nothing, and the other commands say what they need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = [str(ROOT / floor) for floor in ("shared", "client", "server", "simulations")]


def bare(code: str) -> subprocess.CompletedProcess[str]:
    """Run code with this project and the standard library, and nothing that is installed."""
    start = f"import sys; sys.path[:0] = {FLOORS!r}; "
    command = [sys.executable, "-I", "-S", "-c", start + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_client_runs_on_the_standard_library_alone() -> None:
    done = bare("import dither; dither.Client({}, 'http://127.0.0.1:9', 'app', dither.MemoryState()).close()")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "extra"),
    [("dither_server", "server"), ("dither_relay", "server"), ("dither_simulations", "simulations")],
)
def test_the_commands_say_what_to_install(module: str, extra: str) -> None:
    done = bare(f"from {module}.__main__ import main; main()")
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"needs: pip install 'dither[{extra}]'")
    assert "Traceback" not in done.stderr
