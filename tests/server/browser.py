"""Chromium without a window, steered over a pipe by its DevTools protocol: what a page shows, and what it complains of.

The protocol is JSON between zero bytes, so this takes no driver program that must fit the browser's version.
"""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WHY_NOT = "no chromium here: apt-get install chromium"
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking "
    "--disable-component-update --hide-scrollbars --force-color-profile=srgb --remote-debugging-pipe"
)
_PATIENCE = 60.0
_KEYS: dict[str, dict[str, Any]] = {
    "Enter": {"windowsVirtualKeyCode": 13, "text": "\r"},
    "Tab": {"windowsVirtualKeyCode": 9},
}


class Page:
    """A tab, and everything it complained of since it was opened."""

    def __init__(self, browser: "_Browser", session: str) -> None:
        self._browser = browser
        self._session = session
        self.complaints: list[str] = []
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, in this tab."""
        return self._browser.call(method, self._session, **parameters)

    def look(self, width: int = 1000, *, dark: bool = False) -> None:
        """Set the width in pixels and the colour scheme."""
        mobile = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go to ``url`` and wait until everything of it is loaded."""
        self._browser.events.clear()
        self.call("Page.navigate", url=url)
        self._browser.await_event("Page.loadEventFired", self._session)

    def run(self, code: str) -> Any:
        """Return what an expression of JavaScript is; a promise is awaited."""
        message = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in message, message
        return message["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key of those in ``_KEYS``."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **_KEYS[key])

    def heard(self, method: str, message: dict[str, Any]) -> None:
        """Note an event if it is a complaint."""
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(message["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and message["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str(message["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(f"{message['entry']['text']} {message['entry'].get('url', '')}")


class _Browser:
    def __init__(self, program: str, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash"]
        command += [program, *_FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._rest, self._number = b"", 0
        self.pages: dict[str, Page] = {}
        self.events: list[tuple[str, str | None]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result

    def await_event(self, method: str, session: str) -> None:
        while (method, session) not in self.events:
            self._next()

    def _next(self) -> dict[str, Any]:
        """Return the next message; an event is noted, too."""
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser says nothing"
            self._rest += os.read(self._in, 1 << 20)
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append((message["method"], message.get("sessionId")))
            if message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].heard(message["method"], message["params"])
        return message

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        os.close(self._out)


@contextmanager
def browser(profile: Path) -> Iterator[Page | None]:
    """Yield a tab of a fresh browser, or None if no browser is installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        yield None
        return
    running = _Browser(program, profile)
    try:
        target = running.call("Target.createTarget", url="about:blank")["targetId"]
        yield Page(running, running.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
    finally:
        running.close()
