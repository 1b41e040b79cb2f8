"""A collector on a socket: waitress, one committer, and a clean end."""

import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType

import waitress  # type: ignore[import-untyped]
from flask import Flask

from dither_shared import ParameterError

from .app import collector_of
from .deferring import Channel, Dispatcher, Sockets
from .process import prepare_process

__all__ = ["listen", "serve"]

_BACKLOG = 1000


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raises ParameterError if it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ParameterError(f"{host}:{port}", f"cannot be listened on: {error.strerror or error}") from None


def serve(app: Flask, listener: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then commit what was accepted and return.

    ``ready`` is called once with the URL, when connections are taken.
    """
    collector = collector_of(app)
    prepare_process()
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a queue is how groups form, not a warning
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    sockets: Sockets = {}
    server = waitress.create_server(
        app,
        map=sockets,
        sockets=[listener],
        _dispatcher=Dispatcher(collector.ingest, collector.config.threads, collector.committer.close, sockets),
        connection_limit=collector.config.connections,
        asyncore_use_poll=True,
        # Go on reading while a request is served, for that is how it shows that the peer has hung up.
        channel_request_lookahead=1,
        # Whether a proxy stands between is for the gatekeeper to see; nothing else reads these headers.
        clear_untrusted_proxy_headers=False,
        # Waitress refuses what reaches its limit; a body of our limit is still ours to judge.
        max_request_body_size=collector.config.body_limit + 1,
        ident="dither",
    )
    server.channel_class = Channel
    try:
        ready(_url(listener))
        server.run()
    except SystemExit:
        pass  # a signal between two steps of ours
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # asked twice, the commits are still made
        server.close()
        collector.close()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
