"""Under gevent, which replaces threads, locks and sockets: before dither is loaded, as it should, or too late."""

from pathlib import Path

import pytest

from client.test_processes import needs_fork, run

pytest.importorskip("gevent", reason="gevent is not installed")

_EARLY = "from gevent import monkey; monkey.patch_all()\n"
_LATE = "late = True\n"
_PROGRAM = """
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
    program = {"early": _EARLY, "late": _LATE}[when] + _PROGRAM
    done = run(program, definitions, str(folder), options=("-W", "ignore"))
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 3)
