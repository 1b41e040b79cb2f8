"""A collector for any WSGI server, configured by ``DITHER_*`` variables: ``dither_server.wsgi:app``."""

import atexit
import os

from .app import collector_of, create_app
from .process import prepare_process
from .settings import configured, resolve

__all__ = ["app"]

prepare_process()
app = create_app(configured(resolve({}, os.environ)))
atexit.register(collector_of(app).close)
