"""Stream answers that take work: send them piece by piece, and stop when the peer is gone."""

from collections.abc import Callable, Iterator
from itertools import chain

from flask import Response, request

from dither_serving.problems import Kind

from ..reading.limiter import Analysis, PeerGoneError, peer_gone_check
from .lookup import collector_here

COSTLY = (Kind.TOO_COSTLY, Kind.BUSY)
"""Problems of every answer that takes work."""


def begin() -> Analysis:
    """Begin an analysis for the present request."""
    return collector_here().analyses.begin(peer_gone_check(request.environ))


def streamed(make: Callable[[], Iterator[bytes]], media_type: str = "application/json") -> Response:
    """Answer with the pieces that ``make`` yields.

    An error within the first hundred kilobytes or so is answered as a problem; later the connection is cut, so that
    nobody takes a part for the whole.
    """
    analysis = begin()
    try:
        pieces = analysis.pieces(make)
        first, second = next(pieces, b""), next(pieces, None)
    except BaseException as error:
        analysis.end(error)
        raise
    if second is None:
        analysis.end()
        return Response(first, mimetype=media_type)
    response = Response(_sent(analysis, chain((first, second), pieces)), mimetype=media_type)
    response.call_on_close(analysis.end)
    return response


def _sent(analysis: Analysis, pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
        analysis.end()
    except PeerGoneError as error:
        analysis.end(error)
    except BaseException as error:
        analysis.end(error)
        raise
