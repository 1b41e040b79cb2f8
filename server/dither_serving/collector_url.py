"""A collector's URL, and one bounded request to it, as the relay and the doctor send them."""

import ssl
from collections.abc import Mapping
from contextlib import closing
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from dither_shared import DitherError, ParameterError
from dither_shared.bounded_http import Deadline, HttpAnswer, dial, exchange, request, resolve, secured

from .addresses import is_loopback

_PORTS = {"http": 80, "https": 443}

_HEADS = 1 << 17
"""Bytes received in addition to the body: TLS and the heads of answers."""


class NoAnswerError(DitherError):
    """The collector gave no answer; the message says why, and is appended to the name of who was asked."""


class CollectorUrl(NamedTuple):
    """Where the collector listens, and the prefix of its paths."""

    is_secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, parameter: str, text: str) -> Self:
        """Read a URL; raise ParameterError, which repeats no password, unless a collector may have it."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = parts = None
        clean = text.isascii() and text.isprintable() and " " not in text
        if not parts or not host or parts.scheme not in _PORTS or not clean:
            raise ParameterError(parameter, "not a URL, such as https://collector.example")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ParameterError(
                parameter,
                "not a collector's URL: it must have no name, password, query or fragment; give the token separately",
            )
        return cls(parts.scheme == "https", host, port or _PORTS[parts.scheme], parts.path.rstrip("/"))

    @property
    def is_exposed(self) -> bool:
        """Whether a token can be read in transit."""
        return not self.is_secure and not is_loopback(self.host)

    def ask(
        self, path: str, fields: Mapping[str, str], seconds: float, most: int, body: bytes | None = None
    ) -> HttpAnswer:
        """Return the answer to a POST of ``body``, or to a GET if it is None; raise NoAnswerError if there is none.

        All of it takes at most ``seconds``, and at most ``most`` bytes of the answer's body are read. No redirect is
        followed: it might take the token elsewhere.
        """
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS["https" if self.is_secure else "http"] else f":{self.port}"
        head = {"Host": host + port, "Accept": "application/json", "Connection": "close", **fields}
        if body is not None:
            head |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        sent = request("GET" if body is None else "POST", self.prefix + path, head, body or b"")
        deadline = Deadline(seconds)
        try:
            stream, _ = dial(resolve(self.host, self.port), deadline, most + _HEADS)
            with closing(secured(stream, self.host) if self.is_secure else stream) as stream:
                return exchange(stream, sent, most)
        except TimeoutError:
            raise NoAnswerError(f"cannot be reached: no complete answer within {seconds:g} seconds") from None
        except ssl.SSLCertVerificationError as error:
            raise NoAnswerError(f"cannot be trusted: its certificate is not valid: {error.verify_message}") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: a label of the name is empty or too long
            raise NoAnswerError(f"cannot be reached: {getattr(error, 'strerror', None) or error}") from None
