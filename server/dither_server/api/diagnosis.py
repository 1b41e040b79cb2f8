"""What a collector sees of the request that asks it, for whoever runs it: so proxies in front can be set right."""

from wsgiref.types import WSGIEnvironment

from dither_serving.locality import is_loopback, signs_of_another
from dither_serving.proxies import Proxies

from ..collector import Collector
from ..config.program import VERSION

__all__ = ["diagnosis"]


def diagnosis(collector: Collector, environ: WSGIEnvironment) -> dict[str, object]:
    """Return the program's version and what is seen of this request, of which nothing is kept."""
    address = str(environ.get("REMOTE_ADDR") or "")
    proxies = Proxies(collector.config.proxies)
    seen = {
        "address": address,
        "loopback": is_loopback(address),
        "proxy": address in proxies,
        "forwarded_for": proxies.forwarded(environ.get("HTTP_X_FORWARDED_FOR", "")) or None,
        "signs": signs_of_another(environ),
        "local": collector.config.here.made(environ),
    }
    return {"version": VERSION, "seen": seen}
