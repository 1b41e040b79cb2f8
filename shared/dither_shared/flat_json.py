"""Read and write flat JSON objects of strings, with bytes as base64; any other JSON is refused."""

from __future__ import annotations

import binascii

from .errors import WireError
from .light import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


def base64(data: bytes) -> str:
    """Return bytes in base64, on one line."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


@lru_cache(maxsize=1024)
def quoted(text: str) -> str:
    """Return a text as a JSON string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json  # noqa: PLC0415 - with re, 4 ms of a device's start

    return json.dumps(text)


def read_object(body: bytes, fields: Collection[str], known: Sequence[str]) -> dict[str, str]:
    """Return the members of a JSON object of strings, which must have ``fields`` and may have those that are ``known``.

    Raises WireError, which says what is wrong and where.
    """
    import json  # noqa: PLC0415 - likewise

    # No honest body contains a bracket or a second brace, so the depth is known before a parser recurses.
    if b"[" in body or body.count(b"{") > 1:
        raise WireError("body: nested; it must be one flat JSON object of strings")
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_members(known), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise WireError("body: not UTF-8") from None
    except WireError:
        raise
    except ValueError as error:
        raise WireError(f"body: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise WireError("body: not a JSON object")
    for name in fields:
        if name not in value:
            raise WireError(f"{name}: missing; the object has {', '.join(fields)}")
    return value


def read_base64(text: str, place: str) -> bytes:
    """Return the bytes that a text holds in base64; raise WireError, naming the place, unless it is canonical."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except UnicodeEncodeError:
        raise WireError(f"{place}: not base64 (not ASCII)") from None
    except binascii.Error as error:
        raise WireError(f"{place}: not base64 ({error})") from None
    if base64(data) != text:
        raise WireError(f"{place}: not canonical base64; the last digit has bits that are not used")
    return data


def _members(known: Sequence[str]) -> Callable[[list[tuple[str, object]]], dict[str, str]]:
    def members(pairs: list[tuple[str, object]]) -> dict[str, str]:
        read: dict[str, str] = {}
        for name, value in pairs:
            if name not in known:
                raise WireError(f"body: unknown member; the object has {', '.join(known)}")
            if name in read:
                raise WireError(f"{name}: given twice")
            if not isinstance(value, str):
                raise WireError(f"{name}: not a string")
            read[name] = value
        return read

    return members


def _no_constant(text: str) -> object:
    raise WireError(f"body: {text} is not JSON")
