"""HPKE (RFC 9180) with the package ``cryptography``, which is an extra: nothing else here imports it.

A private key is stored as bytes: 32 for X25519; for X-Wing the seed of ML-KEM-768 (64) and the X25519 key (32).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from dither_shared import ParameterError
from dither_shared.seal_key import SealKey, Suite

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite as Hpke

_PACKAGE = "cryptography.hazmat.primitives.hpke"

Opener = Callable[[bytes, bytes], bytes | None]
"""Takes a sealed row and the ``info`` that it was sealed with; returns the row, None if it does not open."""


def require_cryptography() -> None:
    """Raise ParameterError that says what to install if sealed reports cannot be opened here."""
    try:
        found = find_spec(_PACKAGE)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ParameterError(
            "sealed reports", "need the package cryptography, 47 or later: pip install 'dither[server,sealed]'"
        )


def draw_key(suite: Suite) -> tuple[SealKey, bytes]:
    """Return a fresh key: the public one, and the private one as bytes.

    Raises ParameterError without the package, or if it lacks what the suite needs.
    """
    require_cryptography()
    with _supported(suite):
        kind = _kinds()[suite.name]
        private = kind.draw()
        return SealKey(suite, kind.public(private)), private


def opener(public: SealKey, private: bytes) -> Opener:
    """Return a function that opens rows sealed for a key.

    Raises ParameterError without the package, if it lacks what the suite needs, and if the private key does not match
    the public one.
    """
    require_cryptography()
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra, and this is its only door

    kind = _kinds()[public.suite.name]
    with _supported(public.suite):
        try:
            if kind.public(private) != public.public:
                raise ValueError
            hpke, key = kind.hpke(), kind.load(private)
        except ValueError:
            raise ParameterError(
                f"key {public.fingerprint}", "its private part does not match the public one"
            ) from None

    def opened(sealed: bytes, info: bytes) -> bytes | None:
        try:
            return hpke.decrypt(sealed, key, info)
        except InvalidTag:
            return None

    return opened


@contextmanager
def _supported(suite: Suite) -> Iterator[None]:
    """Raise ParameterError if the package was built without what a suite needs, as with an OpenSSL without ML-KEM."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        yield
    except UnsupportedAlgorithm:
        raise ParameterError(
            f"keys of {suite.name}", "the package cryptography here was built without it; install a wheel from PyPI"
        ) from None


class _Kind(NamedTuple):
    """The functions that make and read keys of a suite; they raise ValueError for bytes that are not a key."""

    draw: Callable[[], bytes]
    load: Callable[[bytes], Any]
    public: Callable[[bytes], bytes]
    hpke: Callable[[], "Hpke"]


_SEED = 64
"""Bytes of the seed of a key of ML-KEM-768."""


def _kinds() -> Mapping[str, _Kind]:
    """Return the kinds of keys by the names of their suites."""
    from cryptography.hazmat.primitives import hpke  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey  # noqa: PLC0415

    def suite(kem: hpke.KEM) -> hpke.Suite:
        return hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)

    def draw_curve() -> bytes:
        return X25519PrivateKey.generate().private_bytes_raw()

    def curve(private: bytes) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(private)

    def lattice(private: bytes) -> MLKEM768PrivateKey:
        return MLKEM768PrivateKey.from_seed_bytes(private[:_SEED])

    def public(key: "X25519PrivateKey | MLKEM768PrivateKey") -> bytes:
        return key.public_key().public_bytes_raw()

    return {
        "x25519": _Kind(
            draw=draw_curve,
            load=curve,
            public=lambda private: public(curve(private)),
            hpke=lambda: suite(hpke.KEM.X25519),
        ),
        "xwing": _Kind(
            draw=lambda: MLKEM768PrivateKey.generate().private_bytes_raw() + draw_curve(),
            load=lambda private: hpke.MLKEM768X25519PrivateKey(lattice(private), curve(private[_SEED:])),
            public=lambda private: public(lattice(private)) + public(curve(private[_SEED:])),
            hpke=lambda: suite(hpke.KEM.MLKEM768_X25519),
        ),
    }
