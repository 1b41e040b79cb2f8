"""Stream answers that take work: send them piece by piece, and stop when the peer is gone."""

from collections.abc import Callable, Iterator
from itertools import chain

from flask import Response, request

from dither_serving.problems import Kind

from ..reading.limiter import PeerGoneError, Work, tells_gone
from .lookup import collector_here

__all__ = ["COSTLY", "begin", "streamed"]

COSTLY = (Kind.TOO_COSTLY, Kind.BUSY)
"""Problems of every answer that takes work."""


def begin() -> Work:
    """Begin an analysis for the present request."""
    return collector_here().analyses.begin(tells_gone(request.environ))


def streamed(make: Callable[[Work], Iterator[bytes]], media_type: str = "application/json") -> Response:
    """Answer with the pieces that ``make`` yields, in steps.

    An error within the first hundred kilobytes or so is answered as a problem; later the connection is cut, so that
    nobody takes a part for the whole.
    """
    work = begin()
    try:
        pieces = work.pieces(make(work))
        first, second = next(pieces, b""), next(pieces, None)
    except BaseException as error:
        work.end(error)
        raise
    if second is None:
        work.end()
        return Response(first, mimetype=media_type)
    response = Response(_sent(work, chain((first, second), pieces)), mimetype=media_type)
    response.call_on_close(work.end)
    return response


def _sent(work: Work, pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
        work.end()
    except PeerGoneError as error:
        work.end(error)
    except BaseException as error:
        work.end(error)
        raise
