"""Transport: carry a body to the collector, by one method, so that tests and simulations can bring their own.

Each upload has its own connection and the same fixed headers, so that only the network address links two uploads of a
device. Redirects are answers like any other and are never followed; the system's proxies are not used unless the app
wants that. Only the status and Retry-After of an answer are read: nothing in it can change what the device draws.
"""

from __future__ import annotations

import os
import sys

from dither_shared.errors import ParameterError
from dither_shared.light import NamedTuple, Protocol
from dither_shared.plain import type_name

from ..forks import importing
from ..reporting.bodies import CLEAR, SEALED, kind_for, kind_of, require
from ..settings import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn, Self

    from dither_shared.bounded_http import Stream
    from dither_shared.metrics.metric import Metric

PLAIN_HTTP = "endpoint: http:// is not encrypted, so the network can read each report; use https://"
_DEADLINE = 20.0
_PORTS = {"http": 80, "https": 443}
_LONGEST_LABEL = 63


class Answer(NamedTuple):
    """The answer of a collector: its HTTP status and, if it has a Retry-After, the seconds to wait."""

    status: int
    retry_after: float | None = None


class UnreachableError(OSError):
    """The endpoint could not be reached: no byte of the report has left the device. ``__cause__`` has the reason."""


class Transport(Protocol):
    """Carries one body to the collector; many clients and threads may share it."""

    def send(self, body: bytes) -> Answer:
        """Send ``body`` and return the answer.

        A body that begins with ``{"pool"`` is sealed: it belongs to a relay's ``/v1/sealed``, every other one to a
        collector's ``/v1/reports``. A client sends only one of the two kinds. Raises OSError if there is no answer, and
        UnreachableError if no byte of the body was sent, so that nobody can have seen whose it is.
        """


class Nowhere:
    """A transport that sends nothing, for clients that only show reports and store choices."""

    def send(self, body: bytes) -> NoReturn:
        """Raise OSError."""
        raise OSError("this client sends nothing")


class HttpTransport:
    """POSTs over HTTP or HTTPS to ``<endpoint>/v1/reports``, sealed reports to ``<endpoint>/v1/sealed``.

    ``endpoint`` is the URL of a collector or, for sealed reports, of a relay, and may have a path. Holds no connection.

    ``timeout`` bounds the whole upload, from the look-up of the name to the head of the answer. ``token`` is sent with
    each upload to a collector, which may ask for one, but not to a relay. It must be the app's, the same for all its
    users: a token for each device would identify it. With ``https_proxy``, uploads to an https endpoint go through the
    proxy that the environment names when they leave (see ``proxy_for``). Raises ParameterError for an invalid endpoint,
    timeout or token.
    """

    def __init__(
        self, endpoint: str, timeout: float = _DEADLINE, token: str | None = None, *, https_proxy: bool = False
    ) -> None:
        self._endpoint = Endpoint.parse(endpoint)
        self._https_proxy = https_proxy
        self._token = None if token is None else checked_token(token)
        self._timeout = seconds("timeout", timeout)
        if not self._timeout:
            raise ParameterError("timeout", "must be more than 0 seconds")

    def send(self, body: bytes) -> Answer:
        """Send ``body`` over a fresh connection and return the answer; raise OSError if there is none."""
        with importing():
            from dither_shared import bounded_http  # noqa: PLC0415 - with sockets a third of an import, often not needed

            if self._endpoint.secure:
                import ssl  # noqa: F401, PLC0415 - a child that is forked during its import could never upload

        stream = self._connect()
        try:
            kind = kind_of(body)
            fields = {"Host": self._endpoint.authority, "User-Agent": "dither", "Content-Type": "application/json"}
            fields["Connection"] = "close"
            if kind is CLEAR and self._token is not None:  # the token is the collector's, and a relay asks for none
                fields["Authorization"] = f"Bearer {self._token}"
            fields["Content-Length"] = str(len(body))
            request = bounded_http.request("POST", self._endpoint.path + kind.path, fields, body)
            answer = bounded_http.exchange(stream, request)
        finally:
            stream.close()
        return Answer(answer.status, bounded_http.seconds_of(answer.fields.get("retry-after")))

    def _connect(self) -> Stream:
        from dither_shared import bounded_http  # noqa: PLC0415 - it is loaded

        secure, host, port, *_ = self._endpoint
        try:
            deadline = bounded_http.Deadline(self._timeout)
            if self._https_proxy and secure and (proxy := proxy_for(host)):
                return bounded_http.tunnel(proxy, host, port, deadline)
            return bounded_http.connect(host, port, deadline, secure=secure)
        except OSError as error:
            raise UnreachableError(error.errno, "the endpoint could not be reached") from error


def transport_for(
    metrics: Mapping[str, Metric],
    transport: Transport | None,
    endpoint: str,
    token: str | None,
    *,
    https_proxy: bool = False,
) -> Transport:
    """Return the transport for the reports of ``metrics``: the one that was given, or HTTP to ``endpoint``.

    Raises ParameterError for an impossible endpoint or token, and if reports must be sealed and the package for that is
    missing.
    """
    if kind_for(metrics.values()) is SEALED and not isinstance(transport, Nowhere):
        require()
    return transport or HttpTransport(endpoint, token=token, https_proxy=https_proxy)


def is_exposed(endpoint: str) -> bool:
    """Return whether reports to ``endpoint`` leave this machine unencrypted."""
    scheme, _, rest = endpoint.lower().partition("://")
    host = rest.partition("/")[0]
    name = host if host.endswith("]") else host.partition(":")[0] or host
    return scheme == "http" and name not in {"localhost", ""} and not host.startswith(("127.", "[::1]"))


def proxy_for(host: str, environ: Mapping[str, str] = os.environ) -> tuple[str, int] | None:
    """Return the host and port of the proxy that the environment names for https to ``host``; None if it names none.

    ``https_proxy`` counts before ``HTTPS_PROXY``. ``no_proxy`` or ``NO_PROXY`` lists names, with all names below them,
    or is "*". Raises AnswerError for a proxy that cannot be used: only http:// without a user name can. Then nothing is
    sent, because a network that wants a proxy may not want the app to go around it.
    """
    from dither_shared.bounded_http import AnswerError  # noqa: PLC0415 - it is loaded

    named = environ.get("https_proxy") or environ.get("HTTPS_PROXY") or ""
    if not named or _is_exempt(host, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    try:
        with importing():  # what reads international names and IPv6 addresses
            proxy = Endpoint.parse(named if "://" in named else f"http://{named}")
    except ParameterError:
        raise AnswerError("the proxy in HTTPS_PROXY cannot be used") from None
    if proxy.secure or proxy.path:
        raise AnswerError("the proxy in HTTPS_PROXY cannot be used")
    return proxy.host, proxy.port


def _is_exempt(host: str, listed: str) -> bool:
    names = [name.strip().lower().lstrip(".") for name in listed.split(",")]
    return "*" in names or any(name and (host.lower() == name or host.lower().endswith(f".{name}")) for name in names)


class Endpoint(NamedTuple):
    """The URL of a collector or a relay, taken apart; ``path`` has no slash at its end."""

    secure: bool
    host: str
    """In ASCII, as it is looked up."""
    port: int
    path: str
    authority: str
    """The value of the header ``Host``."""

    @property
    def url(self) -> str:
        """The endpoint's URL, normalized."""
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path}"

    @classmethod
    def parse(cls, endpoint: str) -> Self:
        """Take an endpoint apart; raise ParameterError if it cannot be one."""
        scheme, authority, path = _parts(endpoint)
        host, separator, digits = authority.rpartition(":")
        if not separator or "]" in digits:
            host, digits = authority, ""
        bracketed = host.startswith("[") and host.endswith("]")
        number = int(digits) if digits.isascii() and digits.isdigit() else -1 if digits else _PORTS[scheme]
        if not 0 <= number < 1 << 16 or (bracketed and not _is_ipv6(host[1:-1])) or (":" in host and not bracketed):
            raise ParameterError("endpoint", f"{_quoted(endpoint)} is not a URL")
        host = _ascii((host[1:-1] if bracketed else host).lower())
        name = f"[{host.partition('%')[0]}]" if ":" in host else host
        return cls(
            scheme == "https", host, number, _path(path), name if number == _PORTS[scheme] else f"{name}:{number}"
        )


def _parts(endpoint: str) -> tuple[str, str, str]:
    """Return scheme, host with port, and path."""
    _check_text("endpoint", endpoint)
    scheme, separator, rest = endpoint.partition("://")
    if {*endpoint} & {*"?#@"}:
        raise ParameterError(
            "endpoint", "has a query, a fragment or a user name (an '@'); only host, port and path are used"
        )
    authority, slash, path = rest.partition("/")
    if scheme.lower() not in _PORTS or not separator or not authority.partition(":")[0]:
        raise ParameterError("endpoint", f"{_quoted(endpoint)} is not an http or https URL")
    return scheme.lower(), authority, slash + path


def _is_ipv6(host: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address  # noqa: PLC0415 - few endpoints are such addresses

    try:
        IPv6Address(host)
    except AddressValueError:
        return False
    return True


def _quoted(endpoint: str) -> str:
    """Return an endpoint as quoted in an error message, or "what was given" if it may contain a secret."""
    return "what was given" if {*endpoint} & {*"@?#%"} else repr(endpoint)


def without_secrets(endpoint: object) -> str:
    """Return an endpoint to show: without user name, password, query and fragment, whatever it is."""
    if not isinstance(endpoint, str):
        return ""
    scheme, _, rest = endpoint.partition("://")
    head = f"{scheme}://" if rest and scheme.isalnum() else ""
    shown = (rest if head else endpoint).rpartition("@")[2]  # first, because a password may hold any character
    return head + shown.partition("?")[0].partition("#")[0]


def _check_text(name: str, value: object) -> None:
    """Raise ParameterError, which does not quote ``value``, unless it is a string."""
    if not isinstance(value, str):
        raise ParameterError(name, f"must be a string, not a value of type {type_name(value)}")


def _ascii(host: str) -> str:
    """Return a host name as it is written in a request: an international one in its ASCII form (IDNA)."""
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    labels = name.split(".")
    if not name.isprintable() or {*name} & {*' "<>\\^`{|}'} or not name or max(map(len, labels)) > _LONGEST_LABEL:
        raise ParameterError("endpoint", f"{host!r} is not the name of a host")
    return name


def _path(path: str) -> str:
    path = path.rstrip("/")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise ParameterError("endpoint", f"its path {path!r} has characters that a URL must escape with '%'")
    return path


def checked_token(token: str) -> str:
    """Return ``token``; raise ParameterError, which does not quote it, unless it can stand in a header."""
    _check_text("token", token)
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError("token", "must consist of printable ASCII characters without spaces")
    return token


def failure_reason(error: OSError, host: str) -> str:
    """Return in plain words why there was no answer of ``host``, without quoting anything that a peer sent."""
    with importing():
        import socket  # noqa: PLC0415 - an upload that succeeds at once, or a transport of the app, need not load it

        from dither_shared.bounded_http import AnswerError  # noqa: PLC0415 - likewise

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
