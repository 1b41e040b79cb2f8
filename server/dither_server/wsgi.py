"""A collector for any WSGI server, configured by ``DITHER_*`` variables: ``dither_server.wsgi:app``."""

import atexit
import os
from multiprocessing import parent_process
from multiprocessing.util import Finalize

from .app import collector_of, create_app
from .settings import configured, resolve

__all__ = ["app"]

app = create_app(configured(resolve({}, os.environ)))

if parent_process() is None:
    atexit.register(collector_of(app).close)
else:  # a worker that multiprocessing made, as granian's are: these end without atexit
    Finalize(None, collector_of(app).close, exitpriority=10)
