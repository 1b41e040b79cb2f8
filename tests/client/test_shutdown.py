"""At the interpreter's shutdown imports fail, threads freeze, names are None: the client neither raises nor hangs."""

from itertools import product
from pathlib import Path

import pytest

from client.devices import ENDPOINT
from client.test_lives import python_of
from client.test_processes import run

METHODS = ["record", "flush", "status", "preview", "sent", "pending", "consent_text", "consent", "__repr__"]
METHODS += ["outcome", "timer", "explain", "forget", "close"]

_CALLS = """
import os, sys, time
import dither

client = dither.Client(*sys.argv[1:3], "app", sys.argv[3], environ={"DITHER": "on"}, spread=1000)

def say(text, write=os.write):  # a function's defaults live as long as it does, longer than standard output
    write(1, f"{text}\\n".encode())

def everything(say=say, client=client, now=time.monotonic, record=dither.record):
    calls = [("record", "theme", "light"), ("record", "nosuch", 1), ("record", "theme", []), ("flush", 5.0)]
    calls += [("status",), ("preview",), ("sent",), ("pending",), ("consent_text",), ("consent_text", ["nosuch"])]
    calls += [("consent", "on"), ("consent", "maybe"), ("__repr__",), ("outcome", "theme", "dark", "light")]
    calls += [("timer", "theme"), ("explain", b"")]
    calls += [("forget",), ("close",)]
    begun = now()
    for name, *arguments in calls:
        try:
            answer = getattr(client, name)(*arguments)
            if name in {"outcome", "timer"}:
                with answer:
                    pass
            if name == "status":
                answer.mode + answer.decided_by, answer.trouble, answer.metrics
        except Exception as error:
            say(f"{name} raised {error!r}")
        else:
            say(name)
    record("theme", "dark")
    if now() - begun > 60:
        say("it hung")

class Late:
    everything = staticmethod(everything)

    def __del__(self):
        self.everything()

late = Late()
"""

MOMENTS = {
    "a global": "",
    "a cycle": "import gc; gc.collect(); late.itself = late; del late",  # so that it is not collected before the end
    "another module's": "import builtins; builtins.late = late; del late",
    "after the names": "sys.late = late; del late",  # sys is cleared last
    "atexit": "import atexit; del Late.__del__; atexit.register(everything)",
    "a thread that outlives main": (
        "import threading; del Late.__del__\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), everything())).start()"
    ),
}


CASES = list(product(("3.11", "3.12", "3.13", "3.14"), (False, True), MOMENTS))
QUICK = [
    # In 3.11 the first imports, and the first thread, come at the interpreter's end.
    *(("3.11", False, moment) for moment in ("a global", "after the names", "a thread that outlives main")),
    # In 3.13 the thread that sends is frozen.
    *(("3.13", True, moment) for moment in ("a cycle", "another module's", "atexit")),
]
"""The other moments find the same faults, at 0.4 s of processor time per program."""


@pytest.mark.parametrize(
    ("version", "recorded", "moment"),
    [pytest.param(*case, marks=[] if case in QUICK else [pytest.mark.slow]) for case in CASES],
)
def test_no_method_raises_or_hangs_at_shutdown(
    definitions: str, folder: Path, version: str, moment: str, recorded: bool
) -> None:
    """In Python 3.11 a thread that is started now never runs, and its starter waits without end."""
    before = 'client.record("theme", "dark")\n' if recorded else ""
    program, options = f"{_CALLS}{before}{MOMENTS[moment]}", ("-I", "-S", "-X", "dev", "-W", "error")
    done = run(program, definitions, ENDPOINT, str(folder), python=python_of(version), options=options)
    assert done.returncode == 0
    assert list(dict.fromkeys(done.stdout.split("\n")[:-1])) == METHODS
    lines = done.stderr.split("\n")[:-1]
    mistakes = ("unknown metric; ", "wrong value for ", "consent was called ", "consent_text was called ")
    assert [line for line in lines if not line.startswith(mistakes)] == []
    assert moment in {"atexit", "a thread that outlives main"} or not lines, "no log handler is left"


@pytest.mark.parametrize("moment", ["a global", "after the names", "atexit"])
def test_answer_at_shutdown_is_still_recorded(definitions: str, folder: Path, moment: str) -> None:
    """Recording needs no thread: the next run sends the report."""
    program = _CALLS.replace('("forget",), ("close",)', "").replace('("consent", "maybe"), ', "")
    assert run(program + MOMENTS[moment], definitions, ENDPOINT, str(folder)).returncode == 0
    queued = (folder / "journal").read_bytes().count(b" queued ") if (folder / "journal").exists() else 0
    assert queued == (moment != "after the names")


@pytest.mark.parametrize("moment", ["a global", "after the names", "atexit"])
def test_a_client_that_was_off_raises_nothing_at_shutdown(definitions: str, folder: Path, moment: str) -> None:
    """The modules that it needs for more were never imported."""
    program = _CALLS.replace('"DITHER": "on"', '"DITHER": "off"') + MOMENTS[moment]
    done = run(program, definitions, ENDPOINT, str(folder))
    assert done.returncode == 0
    assert list(dict.fromkeys(done.stdout.split("\n")[:-1])) == METHODS
    assert "Traceback" not in done.stderr
