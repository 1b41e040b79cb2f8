"""A collector for any WSGI server, configured by ``DITHER_*`` variables: ``dither_server.wsgi:app``."""

import atexit
import os
from collections.abc import Iterable
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from wsgiref.types import StartResponse, WSGIEnvironment

from dither_serving.server import prepare_process

from .app import collector_of, create_app
from .config.sources import COLLECTOR

prepare_process()
app = create_app(COLLECTOR.configured(COLLECTOR.resolve({}, os.environ)))
_answer = app.wsgi_app


def _start_and_answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer the first request: if the server forks, it has done so by now."""
    collector_of(app).start()
    app.wsgi_app = _answer  # type: ignore[method-assign]
    return _answer(environ, start_response)


app.wsgi_app = _start_and_answer  # type: ignore[method-assign]

if parent_process() is None:
    atexit.register(collector_of(app).close)
else:  # a worker started by multiprocessing, like granian's: these end without atexit
    Finalize(None, collector_of(app).close, exitpriority=10)
