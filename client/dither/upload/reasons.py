"""Reasons: say in plain words why an upload got no answer. Nothing that a peer sent is quoted."""

import os
import socket
import sys

from .exchange import AnswerError
from .transport import UnreachableError

__all__ = ["reason"]

_WORDS: tuple[tuple[type[OSError], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "the connection was cut off"),
)


def reason(error: OSError, host: str) -> str:
    """Return why there was no answer of ``host``."""
    cause = error.__cause__ if isinstance(error, UnreachableError) else error
    if isinstance(cause, AnswerError):
        return str(cause)
    if isinstance(cause, socket.gaierror):
        temporary = cause.errno == socket.EAI_AGAIN
        return f"the name {host} could not be looked up just now" if temporary else f"the name {host} is not known"
    tls = _tls_reason(cause, host)
    known = (words for kind, words in _WORDS if isinstance(cause, kind))
    return tls or next(known, None) or _system_reason(cause or error)


def _tls_reason(cause: BaseException | None, host: str) -> str | None:
    if (ssl := sys.modules.get("ssl")) is None:
        return None
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not valid: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS with {host}: {(cause.reason or 'the connection ended').replace('_', ' ').lower()}"
    return None


def _system_reason(error: BaseException) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if isinstance(number, int) else f"no answer ({type(error).__name__})"
