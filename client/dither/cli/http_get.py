"""HTTP GET: send one to a collector that may be hostile, with bounded bytes and time.

An app never asks a collector anything (transport.py). Only ``python -m dither test`` does, for its developer.
"""

import json
import socket
import threading
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from typing import NamedTuple
from urllib.parse import urlsplit

from dither_shared.errors import ParameterError

from ..upload.exchange import Deadline
from ..upload.transport import HttpTransport

__all__ = ["Address", "Reply", "Target", "connect", "get", "resolve"]

Address = tuple[socket.AddressFamily, tuple[str, int]]
"""An address family, and the address that ``socket.connect`` takes."""

_URN = "urn:dither:problem:"
_MOST_OF_AN_ANSWER = 1 << 16
_MOST_OF_A_BODY = 1 << 14


class Reply(NamedTuple):
    """An answer: its status, its body (cut if it is too long), and the target of a redirection."""

    status: int
    body: bytes
    location: str

    @property
    def document(self) -> Mapping[str, object]:
        """The JSON object that it holds; an empty one if it holds none."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def problem(self) -> str:
        """The end of a problem's type, or "" if the answer is none of ours."""
        kind = self.document.get("type")
        return kind.removeprefix(_URN) if isinstance(kind, str) and kind.startswith(_URN) else ""


class Target(NamedTuple):
    """An endpoint, taken apart; ``path`` without a slash at its end."""

    secure: bool
    host: str
    port: int
    path: str
    header: str
    """The value of the header ``Host``."""

    @property
    def url(self) -> str:
        """The endpoint, put together again."""
        return f"{'https' if self.secure else 'http'}://{self.header}{self.path}"

    @classmethod
    def of(cls, endpoint: str, token: str | None) -> "Target":
        """Return the parts of an endpoint; raise ParameterError if an app could not have it, or the token."""
        HttpTransport(endpoint, token=token)  # which says what is wrong with either
        parts = urlsplit(endpoint)
        secure, host, usual = parts.scheme == "https", parts.hostname or "", 443 if parts.scheme == "https" else 80
        port = usual if parts.port is None else parts.port
        try:
            name = host.encode("ascii" if ":" in host else "idna").decode("ascii")
            parts.path.encode("ascii")
        except UnicodeError:
            raise ParameterError("endpoint", f"{endpoint!r} has a host or a path that cannot be sent") from None
        if " " in parts.path or not parts.path.isprintable() or "%" in name or not name.isprintable() or " " in name:
            raise ParameterError("endpoint", f"{endpoint!r} has a host or a path that cannot be sent")
        header = f"[{name}]" if ":" in name else name
        return cls(secure, name, port, parts.path.rstrip("/"), header if port == usual else f"{header}:{port}")


def resolve(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Return the addresses of a host; raise OSError if it has none or nobody says so in time.

    The system's resolver takes no timeout, so it runs in a thread that nobody waits for.
    """
    found: list[Address] = []
    wrong: list[OSError] = []

    def look_up() -> None:
        try:
            for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                found.append((family, address))  # type: ignore[arg-type]  # of IPv4 or IPv6, with what else belongs to it
        except OSError as error:
            wrong.append(error)
        except UnicodeError:
            wrong.append(OSError("the name cannot be looked up"))

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(deadline.left())
    if wrong:
        raise wrong[0]
    if thread.is_alive() or not found:
        raise TimeoutError("nobody says which address it has")
    return found


def connect(addresses: list[Address], deadline: Deadline) -> tuple[socket.socket, Address]:
    """Return a connection to the first address that answers, and that address; raise OSError if none does."""
    wrong: OSError = ConnectionError("there is no address")
    for position, (family, address) in enumerate(addresses):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # a family that this machine has not
            wrong = error
            continue
        try:
            connection.settimeout(deadline.left() / (len(addresses) - position))
            connection.connect(address)
        except OSError as error:
            connection.close()
            wrong = error
        else:
            return connection, (family, address)
    raise wrong


def get(connection: socket.socket, target: Target, path: str, token: str | None, deadline: Deadline) -> Reply:
    """Return the answer to a GET of ``path`` below the endpoint; raise OSError if there is none."""
    lines = [f"GET {target.path}{path} HTTP/1.1", f"Host: {target.header}", "User-Agent: dither"]
    lines += ["Accept: application/json", "Connection: close"]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    connection.settimeout(deadline.left())
    connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    response = HTTPResponse(_Bounded(connection, deadline))  # type: ignore[arg-type]  # it asks for a file, and no more
    try:
        response.begin()
        return Reply(response.status, response.read(_MOST_OF_A_BODY), response.getheader("Location") or "")
    except (HTTPException, ValueError) as error:
        raise ConnectionError(f"no HTTP answer ({type(error).__name__})") from None
    finally:
        response.close()


class _Bounded(RawIOBase):
    """The bytes from a connection, up to a number and a deadline. Beyond them it looks closed by the peer."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._left = _MOST_OF_AN_ANSWER

    def makefile(self, *_: object) -> BufferedReader:
        """Return the file that the parser of answers asks for."""
        return BufferedReader(self)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader gives nothing else
        """Read into ``buffer``; return how many bytes."""
        if not self._left:
            return 0
        self._connection.settimeout(self._deadline.left())
        count = self._connection.recv_into(buffer[: self._left])
        self._left -= count
        return count
