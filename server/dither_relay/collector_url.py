"""The collector's address, as an operator gives it."""

from typing import NamedTuple, Self
from urllib.parse import urlsplit

from dither_serving.locality import is_loopback
from dither_shared import ParameterError


class CollectorUrl(NamedTuple):
    """Where the collector listens, and what stands before its paths."""

    is_secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL; raise ParameterError, which repeats no password, unless it is one of a collector."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = parts = None
        if not parts or not host or parts.scheme not in {"http", "https"} or not text.isascii() or " " in text:
            raise ParameterError("collector", "not a URL, such as https://collector.example")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ParameterError(
                "collector", "no name, password, query or fragment belongs there; the token is a setting"
            )
        is_secure = parts.scheme == "https"
        return cls(is_secure, host, port or (443 if is_secure else 80), parts.path.rstrip("/"))

    @property
    def is_exposed(self) -> bool:
        """Whether a token can be read on the way."""
        return not self.is_secure and not is_loopback(self.host)
