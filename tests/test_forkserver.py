"""Programs started by the fork server behave like those started by the interpreter."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forkserver import run, start, stubs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere programs start cold")

ENDS = {
    "nothing": "pass",
    "a status": "import sys; sys.exit(3)",
    "a message": "import sys; sys.exit('no')",
    "an error": "1 / 0",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os; os.kill(os.getpid(), 15)",
    "an exit function": "import atexit; atexit.register(print, 'at the end')",
    "a thread": "import threading, time; threading.Thread(target=lambda: [time.sleep(0.1), print('last')]).start()",
    "text that is not flushed": "import sys; sys.stdout.write('here')",
    "output that is closed": "import os; os.close(1); print('gone')",
    "words and folder": "import os, sys; print(sys.argv, os.getcwd(), os.environ.get('WORD'), os.umask(0))",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_forked_program_prints_and_ends_like_a_cold_one(code: str, tmp_path: Path) -> None:
    words, env = ("-c", code, "one", "two words"), {**os.environ, "WORD": "ä"}
    cold = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    forked = run(*words, cwd=tmp_path, env=env)
    assert (forked.returncode, forked.stdout) == (cold.returncode, cold.stdout)
    assert forked.stderr.splitlines()[-1:] == cold.stderr.splitlines()[-1:]


def test_forked_program_is_killed_by_its_own_number() -> None:
    with start("-c", "print(1, flush=True); import time; time.sleep(60)", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL


def test_stub_passes_signals_and_status_on() -> None:
    code = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([str(Path(stubs(), "python")), "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(60) == 7
