"""Processes that fork a thousand times, close the client's files, or exit; web apps under gunicorn, and gevent.

gevent replaces threads, locks and sockets: before dither is loaded, as it should, or too late. Under gunicorn with
--preload the client is made once, before the workers are forked.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import dither
from client.devices import Make
from client.seals import KEY
from client.test_processes import FLOORS, needs_fork, run

_FORKS = """
import dither, datetime, os, threading
metrics = dither.load_metrics(sys.argv[1])
day = datetime.date(2026, 11, 18)
class Down:
    def send(self, body):
        hanging.set()
        forever.wait()
hanging, forever = threading.Event(), threading.Event()
client = dither.Client(metrics, "", "app", sys.argv[2], transport=Down(), today=lambda: day, environ={}, spread=0)
client.consent("on")
client.record("first", True)
hanging.wait(60)  # from now on every fork finds an upload under way
stop = threading.Event()
def busy():
    while not stop.is_set():
        client.status()  # and often a lock held
thread = threading.Thread(target=busy)
thread.start()
refused = hung = 0
for number in range(int(sys.argv[3])):
    child = os.fork()
    if child == 0:
        import faulthandler, signal
        faulthandler.register(signal.SIGALRM, chain=True)  # a child that hangs says where
        signal.alarm(10)
        counts = client._core.diagnostics.counts  # of the parent, up to the fork
        before = sum(counts.values())
        client.record("theme", "dark")
        client.status()
        os._exit(sum(counts.values()) > before)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    refused += status == 1
    hung += status < 0  # its alarm ended it
stop.set()
thread.join()
client.record("theme", "dark")
print(hung, refused, client.status().queued, client.status().ignored)
"""


@needs_fork
@pytest.mark.parametrize("forks", [30, pytest.param(1000, marks=pytest.mark.slow)])  # 0.1 s of processor time each
def test_forks_while_locks_are_held_report_once(definitions: str, folder: Path, forks: int) -> None:
    program = "import warnings; warnings.simplefilter('ignore')\n" + _FORKS
    done = run(program, definitions, str(folder), str(forks))
    hung, refused, queued, ignored = map(int, done.stdout.split())
    assert hung == 0, done.stderr
    assert done.stderr == "", "a child that finds the journal held by its parent is refused, and counts it"
    assert (queued, ignored) == (2, 1)
    assert refused <= max(3, forks // 50)


_FORKS_DURING_IMPORT = """
import os, signal, threading
importing, forking, forked = (threading.Event() for _ in range(3))
os.register_at_fork(before=forked.set)  # called after dither's own function, which waits for the import
import dither
class Slow:  # the import of what ``status`` needs goes on while the program forks
    def find_spec(self, name, *_):
        if name == "dither.transparency.status":
            importing.set()
            forking.wait(60)
            if forked.wait(0.3):
                print("the fork did not wait")
client = dither.Client(sys.argv[1], "http://127.0.0.1:9", "app", sys.argv[2], background=False, environ={})
os.register_at_fork(before=forking.set)  # called before it
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=client.status)
thread.start()
assert importing.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(10)
    client.status()
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""


@needs_fork
def test_child_forked_during_an_import_does_not_hang(definitions: str, folder: Path) -> None:
    program = "import warnings; warnings.simplefilter('ignore')\n" + _FORKS_DURING_IMPORT
    done = run(program, definitions, str(folder))
    assert (done.stdout, done.stderr) == ("0\n", "")


_IMPORTS_LATE = """
import os
from _thread import get_ident
from dither_shared.light import contextmanager
from dither import forks
held, importing = [], forks.importing
@contextmanager
def noted():
    with importing():
        held.append(get_ident())
        try:
            yield
        finally:
            held.remove(get_ident())
forks.importing = noted
import dither
class Watch:
    def find_spec(self, name, *_):
        print(name, get_ident() in held)
sys.meta_path.insert(0, Watch())
class Broken:
    def send(self, body):
        raise OSError
def use(state, **named):
    client = dither.Client(sys.argv[1], "https://a.example", "app", state, policy=sys.argv[1], spread=0, **named)
    for name in ("first", "second", "third", "no-metric"):
        client.record(name, True)
    client.flush(60)
    client.close()
    return client
use(sys.argv[2], transport=Broken(), environ={})
os.environ["HTTPS_PROXY"] = "http://[::1]:1"
use(sys.argv[1], environ={"DITHER": "on"})  # no folder can be made there
for named in ({"https_proxy": True}, {"transport": Broken(), "seal": sys.argv[3]}):
    client = use(sys.argv[2] + "-new", environ={"DITHER": "on"}, background=False, **named)
    client.status(), client.consent_text(), [client.explain(body) for body in client.preview()]
sys.meta_path.pop(0)  # an exit must not wait for an import
"""


def test_every_late_import_is_one_that_a_fork_waits_for(definitions: str, folder: Path, make: Make) -> None:
    for _ in range(2):  # the second one keeps the definitions compiled
        make(folder, metrics=definitions, today=None)
    done = run(_IMPORTS_LATE, definitions, str(folder), str(KEY), options=("-I",))
    imported = dict(line.split() for line in done.stdout.splitlines())
    late = {"difflib", "json", "ssl", "socket", "ipaddress", "dither.transparency.status", "dither_shared.languages.en"}
    late |= {"dither_shared.sealed", "cryptography.hazmat.primitives.hpke"}
    assert late - imported.keys() == set(), done.stderr
    assert [name for name, held in imported.items() if held == "False"] == []


_EXITS = """
import dither, atexit, threading
class Late:
    def __del__(self):
        client.record("first", True)
transport = dither.HttpTransport(sys.argv[3], timeout=3600)
client = dither.Client(sys.argv[1], "", "app", sys.argv[2], transport=transport, environ={}, spread=0)
client.consent("on")
client.record("theme", "dark")
late = Late()
atexit.register(client.record, "first", True)
sys.stdin.readline()  # until the upload hangs
print("done")
sys.exit(3)
"""


VERSIONS = ["3.11", pytest.param("3.12", marks=pytest.mark.slow), "3.13", "3.14"]
"""Versions that differ in what threads may do at exit (changed in 3.12 and 3.13); each program takes 0.5 s."""


def python_of(version: str) -> str:
    """Return an interpreter of that version that is installed here, or skip the test."""
    siblings = Path(sys.base_prefix).parent.glob(f"*{version}*/bin/python{version}")  # as pyenv and uv put them
    for python in (*filter(None, [shutil.which(f"python{version}")]), *map(str, siblings)):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"there is no Python {version} here")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_exit_does_not_wait_for_a_server_that_never_answers(
    definitions: str, folder: Path, make: Make, version: str
) -> None:
    python = python_of(version)
    program = f"import sys; sys.path[:0] = {FLOORS!r}\n{_EXITS}"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen(
            [python, "-I", "-S", "-c", program, definitions, str(folder), endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            connection, _ = listener.accept()  # the upload is under way, and will be for an hour
            with connection:
                assert connection.recv(65536)
                out, err = process.communicate(b"\n", timeout=600)
    assert (process.returncode, out, err) == (3, b"done\n", b"")
    client = make(folder, metrics=definitions, mode=None, today=None)
    assert client.status().queued == 2, "answers that were recorded at exit are kept, too"


_CLOSES_ALL = """
import dither, os, datetime
lowest, sockets = int(sys.argv[4]), []
sys.addaudithook(lambda event, given: event == "socket.connect" and sockets.append(given[0].fileno()))
os.dup2(1, 99)
day = datetime.date(2026, 11, 18).toordinal()
client = dither.Client(sys.argv[1], "http://127.0.0.1:9", "app", sys.argv[2], background=False, environ={},
                       today=lambda: datetime.date.fromordinal(day))
client.consent("on")
for number in range(200):
    day += 1
    if number % 2:
        os.closerange(lowest, 64)
    own = [os.open(sys.argv[3], os.O_RDWR | os.O_CREAT) for _ in range(4)]  # the host's, of the numbers that are free
    [os.close(descriptor) for descriptor in own if not lowest]
    client.record("theme", "dark")
    for printed in (1, 2):
        try:
            lowest or not number or os.write(printed, b"by the host\\n")
        except OSError:
            pass
    [os.close(descriptor) for descriptor in own if lowest]
client.flush(5)
status = client.status()
os.write(99, f"{os.path.getsize(sys.argv[3])} {status.metrics[0].reports} {status.trouble} {min(sockets) > 2}".encode())
"""


@pytest.mark.parametrize("lowest", [3, 0])
def test_host_that_closes_every_descriptor_loses_no_report(
    definitions: str, folder: Path, tmp_path: Path, lowest: int
) -> None:
    """Nor does what it prints to closed standard streams come into a file or a connection of the client."""
    done = run(_CLOSES_ALL, definitions, str(folder), str(tmp_path / "own"), str(lowest))
    assert (done.stdout, done.stderr) == ("0 200 {} True", "")


def test_clients_that_are_never_closed_leave_no_thread(definitions: str, folder: Path) -> None:
    before = set(threading.enumerate())
    for _ in range(50):
        client = dither.Client(definitions, "https://example.org", "tests", folder, background=False, environ={})
        client.consent("on")
        client.record("theme", "dark")
    assert set(threading.enumerate()) <= before


_APP = """
import os
import dither

telemetry = dither.Client({metrics!r}, "http://127.0.0.1:9", "app", {state!r}, environ={{"DITHER": "on"}})
telemetry.record("first", True)  # so that the parent also has a running thread

def app(environ, start_response):
    telemetry.record("second", True)
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""


def test_preloaded_workers_report_once_between_them(definitions: str, tmp_path: Path, folder: Path, make: Make) -> None:
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    (tmp_path / "web.py").write_text(_APP.format(metrics=definitions, state=str(folder)))
    command = [sys.executable, "-m", "gunicorn", "--preload", "-w", "2", "-b", "127.0.0.1:0", "web:app"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ) as server:
        assert server.stderr is not None
        address = next(urls[0] for line in server.stderr if (urls := re.findall(r"http://[\d.:]+", line)))
        workers: set[bytes] = set()
        end = time.monotonic() + 30
        while len(workers) < 2 and time.monotonic() < end:
            with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310 - loopback
                workers.add(answer.read())
        server.terminate()
        errors = server.stderr.read()
        assert server.wait(60) == 0
    assert len(workers) == 2, "each worker has recorded"
    assert "failed" not in errors
    client = make(folder, metrics=definitions, mode=None, today=None)
    assert client.status().queued == 2
    assert {metric.name for metric in client.status().metrics if metric.reports == 1} == {"first", "second"}


_EARLY = "from gevent import monkey; monkey.patch_all()\n"
_LATE = "late = True\n"
_GREENLETS = """
import datetime, os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import dither

signal.alarm(120)  # a deadlock ends here
arrived, refused = [], [503]
class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.05)  # other greenlets run during this
        status = refused.pop() if refused else 202
        if status == 202:
            arrived.append(body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

day = [datetime.date(2026, 11, 18)]
def client_of(endpoint, folder):
    client = dither.Client(sys.argv[1], endpoint, "app", folder, environ={}, today=lambda: day[0])
    client.consent("on")
    return client
early_client = client_of("http://127.0.0.1:9", sys.argv[2] + "-early")
if "late" in globals():
    from gevent import monkey
    monkey.patch_all()
import gevent

server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
endpoint = f"http://127.0.0.1:{server.server_address[1]}"
client = client_of(endpoint, sys.argv[2])
ticks = []
def tick():
    while True:
        ticks.append(1)
        gevent.sleep(0.005)
ticker = gevent.spawn(tick)
names = ("first", "second", "third")
gevent.joinall([gevent.spawn(client.record, names[n % 3], True) for n in range(90)])
early_client.record("first", True)
before = len(ticks)
while not client.flush(60):  # the first try is refused
    pass
assert len(ticks) > before + 2, "uploading stopped every other greenlet"
assert sorted(body.split(b'"')[7] for body in arrived) == [b"first", b"second", b"third"], arrived
child = os.fork()
if child == 0:
    signal.alarm(120)
    day[0] = datetime.date(2026, 11, 19)
    client.record("first", True)
    early_client.record("second", True)
    os._exit(0 if client.flush(60) and early_client.status().queued == 2 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert client.status().sent == 4, client.status()
assert client.status().ignored == 87, client.status()
assert client.status().trouble == early_client.status().trouble == {}
ticker.kill()
print("done")
sys.exit(3)
"""


@pytest.mark.parametrize("when", ["early", "late"])
@needs_fork
def test_greenlets_record_and_upload_and_a_forked_worker_does(definitions: str, folder: Path, when: str) -> None:
    pytest.importorskip("gevent", reason="gevent is not installed")
    program = {"early": _EARLY, "late": _LATE}[when] + _GREENLETS
    done = run(program, definitions, str(folder), options=("-W", "ignore"))
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 3)
