"""Seal keys: the public keys of collectors, for which devices encrypt reports, in the suites of HPKE that there are."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import NamedTuple, Self

from .errors import ParameterError
from .primitives.digests import sha256

_TAG = 16
"""Bytes of the tag of ChaCha20-Poly1305."""


class Suite(NamedTuple):
    """A way to seal: the bytes of a public key, and the bytes that sealing adds to a row."""

    name: str
    key_bytes: int
    overhead: int

    @property
    def encapsulated_bytes(self) -> int:
        """The bytes of the encapsulated key, with which a sealed row begins; the row and its tag follow."""
        return self.overhead - _TAG


SUITES = {
    "x25519": Suite("x25519", 32, 32 + 16),
    "xwing": Suite("xwing", 1184 + 32, 1088 + 32 + 16),
}
"""By name: X25519, and X-Wing (ML-KEM-768 with X25519); both with HKDF-SHA256 and ChaCha20-Poly1305."""


_PRIME = 2**255 - 19
_LOW_ORDER = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
    }
)
"""u-coordinates of the points of order at most 8 of Curve25519 and its twist: with one of them as a key, every shared
secret of X25519 is 0 (RFC 7748, sections 5 and 6.1), so anyone could open what is sealed, if anything sealed at all."""


@dataclass(frozen=True)
class SealKey:
    """A collector's public key, to which devices encrypt reports."""

    suite: Suite
    public: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key as ``dither-server key create`` prints it; raise ParameterError if it is not one."""
        name, _, digits = text.partition(":")
        suite = SUITES.get(name)
        if suite is None:
            raise ParameterError("key", f"does not begin with {' or '.join(f'{one}:' for one in SUITES)}")
        try:
            public = urlsafe_b64decode(digits + "=" * (-len(digits) % 4))
        except (binascii.Error, ValueError):
            public = b""
        key = cls(suite, public)
        if len(public) != suite.key_bytes or str(key) != text:
            raise ParameterError("key", f"not {suite.key_bytes} bytes in base64url without padding after {name}:")
        u = int.from_bytes(public[-32:], "little") % 2**255  # the top bit is ignored
        if u % _PRIME in _LOW_ORDER:
            raise ParameterError("key", "its point of X25519 has a low order and protects nothing; create another key")
        return key

    def __str__(self) -> str:
        return f"{self.suite.name}:{urlsafe_b64encode(self.public).rstrip(b'=').decode('ascii')}"

    @property
    def fingerprint(self) -> str:
        """16 hex digits of SHA-256 of the key's text, for people who compare keys."""
        return sha256(str(self).encode("ascii")).hexdigest()[:16]
