"""Publish what the demo's collector counted, as ``dither-server publish`` does."""

from contextlib import closing
from pathlib import Path

from dither_server.dashboard.publishing.editions import Asked
from dither_server.dashboard.publishing.site import Site
from dither_server.store import Store
from dither_shared.metrics.period import utc_today

from ...collection.collector_process import DATABASE
from .surveys import Survey

__all__ = ["SITE", "publish_site"]

SITE = "site"
"""The folder of the site, within that of the demo."""


def publish_site(survey: Survey, out: Path) -> None:
    """Write the site of the database in ``out``. Its only day is not over, but nobody else reports to it."""
    title = "What the demo's devices answered"
    site = Site(survey.metrics, survey.definition.encode(), Asked(None, utc_today()), title, whole=False)
    with closing(Store(f"sqlite:///{out / DATABASE}", create=False)) as store:
        site.publish(store, out / SITE)
