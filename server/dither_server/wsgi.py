"""A collector for any WSGI server, configured by ``DITHER_METRICS`` and ``DITHER_DB``: ``dither_server.wsgi:app``."""

import atexit

from .app import collector_of, create_app
from .config import Config

__all__ = ["app"]

app = create_app(Config.from_environment())
atexit.register(collector_of(app).close)
