"""The endpoint for uploads, in a collector and in a relay: from a request to a commit, or to a Problem."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import Empty, SimpleQueue
from wsgiref.types import WSGIEnvironment

from dither_shared import WireError

from .committer import QueueFullError
from .problems import SAFE_HEADERS, Answer, Kind, Problem, StoreError
from .prometheus import ServerNumbers

_log = logging.getLogger(__name__)

_SOON, _LATER = 1, 10
"""Seconds until a retry: if the queue is full, and if the database fails."""


class UploadEndpoint(ABC):
    """Answers POST to ``paths``, most often without a thread of its own: at once, or when a commit is made.

    ``begin`` answers requests to the first path; the app answers slow requests by ``respond``, in a thread. A commit
    may take ``patience`` seconds. ``noun`` names the content of a request.
    """

    numbers: ServerNumbers
    paths: tuple[str, ...]
    patience: float
    noun = "report"

    @abstractmethod
    def begin(self, environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
        """Take a request; ``then`` is called once with its answer, from any thread: 202 after a durable commit."""

    @abstractmethod
    def refuse(self, problem: Problem) -> None:
        """Count a request that is refused, here or by the server before it is begun."""

    def settled(self, environ: WSGIEnvironment) -> bool:
        """Return whether ``begin`` takes this request without blocking."""
        return True

    def headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Return the headers of every answer to a page of this origin."""
        return []

    def respond(self, environ: WSGIEnvironment) -> Answer:
        """Return the answer to a request, having waited for it."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        self.begin(environ, answers.put)
        try:
            return answers.get(timeout=self.patience)
        except Empty:
            detail = f"the commit takes too long; send the same {self.noun} again"
            status, headers, body = self.counted(Problem(Kind.UNAVAILABLE, detail, _LATER).answer())
            return status, [*headers, *self.headers(environ.get("HTTP_ORIGIN"))], body

    def problem_of(self, error: Exception) -> Problem:
        """Return the problem that stands for an error; log an unexpected error."""
        match error:
            case Problem():
                return error
            case WireError():
                return Problem(Kind.MALFORMED, str(error))
            case QueueFullError():
                return Problem(Kind.OVERLOADED, f"the queue is full; the {self.noun} was not taken", _SOON)
            case StoreError():
                return Problem(Kind.UNAVAILABLE, f"{error.public}; send the same {self.noun} again later", _LATER)
        _log.error("a %s could not be received", self.noun, exc_info=error)
        return Problem(Kind.INTERNAL, f"the {self.noun} was not taken; the server's log says why")

    def accepted(self, body: bytes) -> Answer:
        """Return the answer to committed reports, and count it."""
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *SAFE_HEADERS]
        return self.counted((202, headers, body))

    def counted(self, answer: Answer) -> Answer:
        """Count an answer, and return it."""
        self.numbers.answered(answer[0])
        return answer
