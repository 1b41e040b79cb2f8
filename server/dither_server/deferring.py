"""Waitress without a thread for each report that waits for its commit.

Waitress gives a request to a thread, which has to stay until there is an answer. Here that comes with a commit, and
threads that hand the interpreter to one another cost more than all the work: where each runs on a processor of its
own, ten times as much. So the thread that takes a small report off its socket reads and submits it, goes on, and writes
the answers when the committer says that they are there. Everything else is served by waitress' own threads.

This leans on names of waitress that its documentation does not mention: a dispatcher's ``add_task`` and ``shutdown``, a
channel's ``requests`` and ``service``, and ``trigger``. The tests of the process walk all of it.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask  # type: ignore[import-untyped]
from waitress.trigger import trigger  # type: ignore[import-untyped]

from .ingest import PATH, Ingest, is_length
from .problems import Answer, Kind, Problem, http_answer, reason

__all__ = ["Channel", "Dispatcher", "Sockets"]

_log = logging.getLogger(__name__)

_SMALL = 1 << 16
"""Bytes of a body that are read at once; a larger one would hold up the other connections."""

_QUIET = 60.0
"""Seconds after a line about a refused request in which no other is written."""

Sockets = dict[int, object]
"""What the socket's thread listens to, by file descriptor."""


class _Wake(trigger):  # type: ignore[misc]  # waitress is untyped
    """A pipe by which any thread has the socket's thread call ``then``."""

    def __init__(self, sockets: Sockets, then: Callable[[], None]) -> None:
        super().__init__(sockets)
        self._then = then

    def handle_read(self) -> None:
        """Empty the pipe, and call."""
        with suppress(OSError):
            self.recv(8192)
        self._then()


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress is untyped
    """Submits small reports itself, and gives what is left to ``threads`` threads."""

    def __init__(self, ingest: Ingest, threads: int, drain: Callable[[], None], sockets: Sockets) -> None:
        """Take reports for ``ingest``; ``drain`` answers all that it was given, before the end."""
        super().__init__()
        self._ingest = ingest
        self._drain = drain
        self._answered: deque[HTTPChannel] = deque()
        self._wake = _Wake(sockets, self._write)
        self._woken = False
        self._quiet_until = 0.0
        self.set_thread_count(threads)

    def add_task(self, task: HTTPChannel) -> None:
        """Take the first request of a channel."""
        request = task.requests[0]
        if request.error:
            self._refuse(request)
        if request.error or not (request.command == "POST" and request.path == PATH) or not self._is_quick(request):
            super().add_task(task)
            return

        def answer(answer: Answer) -> None:
            request.answer = answer
            self._answered.append(task)
            if not self._woken:
                self._woken = True
                self._wake.pull_trigger()

        self._ingest.begin(WSGITask(task, request).get_environment(), answer)

    def _refuse(self, request: HTTPRequestParser) -> None:
        """Count reports that waitress refuses before it has read them, and say so, but not at each of a flood."""
        if (getattr(request, "command", ""), getattr(request, "path", "")) != ("POST", PATH):
            return
        error = request.error
        kind = Kind.TOO_LARGE if error.code == Kind.TOO_LARGE.status else Kind.MALFORMED
        self._ingest.refuse(Problem(kind, error.reason))
        if (now := time.monotonic()) >= self._quiet_until:
            self._quiet_until = now + _QUIET
            _log.warning("reports were refused unread: %d %s; more are told after a minute", error.code, error.reason)

    def _is_quick(self, request: HTTPRequestParser) -> bool:
        if request.chunked or request.content_length > _SMALL:
            return False
        # A token may have to be looked up in the database: the socket's thread does not wait for that.
        token = request.headers.get("AUTHORIZATION")
        return token is None or self._ingest.gatekeeper.settled(token)

    def shutdown(self, cancel_pending: bool = True, timeout: int = 5) -> bool:
        """End the threads, having answered every report that was submitted."""
        ended: bool = super().shutdown(cancel_pending, timeout)
        self._drain()
        self._write()
        return ended

    def _write(self) -> None:
        """Write the answers that are there, in the socket's thread. They are small, and wait for nobody."""
        self._woken = False  # before the first is taken: who adds one after the last wakes again
        while self._answered:
            try:
                self._answered.popleft().service()
            except Exception:  # one connection's trouble is not that of the others
                _log.exception("an answer could not be written")


class _Parser(HTTPRequestParser):  # type: ignore[misc]  # waitress is untyped
    """Reads a request's header; refuses a length that Python would not read."""

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header, or raise ParsingError."""
        try:
            super().parse_header(header_plus)
        except ValueError:  # waitress has seen that they are digits, not how many
            raise ParsingError("Content-Length is invalid") from None
        if not is_length(self.headers.get("CONTENT_LENGTH", "0")):
            raise ParsingError("Content-Length is invalid")


class _Task(WSGITask):  # type: ignore[misc]  # waitress is untyped
    """Writes the answer that is there already, or asks the app."""

    def execute(self) -> None:
        """Write the answer."""
        told = getattr(self.request, "answer", None)
        if told is None:
            super().execute()
        else:
            _write(self, told)


class _ProblemTask(ErrorTask):  # type: ignore[misc]  # waitress is untyped
    """Answers what waitress refuses before the app sees it (no HTTP, a body too large) like the app would."""

    def execute(self) -> None:
        """Write the problem, and close."""
        self.set_close_on_finish()
        _write(self, http_answer(self.request.error.code))


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress is untyped
    """A connection whose answers are ours."""

    parser_class = _Parser
    task_class = _Task
    error_task_class = _ProblemTask


def _write(task: WSGITask | ErrorTask, answer: Answer) -> None:
    code, headers, body = answer
    task.complete = True
    task.status = reason(code)
    task.response_headers.extend(pair for pair in headers if pair[0] != "Content-Length")
    task.content_length = len(body)
    task.write(body)
