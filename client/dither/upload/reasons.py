"""Reasons: say in words why there was no answer. Loaded with sockets, when the first upload fails."""

from __future__ import annotations

import os
import socket
import sys

from dither_shared.bounded_http import AnswerError

from .transport import UnreachableError


def failure_reason(error: OSError, host: str) -> str:
    """Return in plain words why there was no answer of ``host``, without quoting anything that a peer sent."""
    cause = error.__cause__ if isinstance(error, UnreachableError) else error
    if isinstance(cause, AnswerError):
        return str(cause)
    if isinstance(cause, socket.gaierror):
        temporary = cause.errno == socket.EAI_AGAIN
        return f"the name {host} could not be looked up just now" if temporary else f"the name {host} is not known"
    words = (words for kind, words in _REASONS if isinstance(cause, kind))
    return _tls_reason(cause, host) or next(words, None) or _system_reason(cause or error)


_REASONS: tuple[tuple[type[OSError], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "the connection was cut off"),
)


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
