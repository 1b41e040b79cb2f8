"""Sealing: encrypt the row of a report for the collector's key, so that a relay carries it and cannot read it.

HPKE (RFC 9180) comes from the package ``cryptography``, which only this module imports, just before the first report is
sealed; apps without a key do not need the package. Only the collector can open what is sealed: HPKE draws an ephemeral
key for each row and discards it, so not even this device can read the row again.
"""

from __future__ import annotations

from functools import lru_cache, partial

from dither_shared.errors import ParameterError

from ...forks import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cryptography.hazmat.primitives import hpke
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    from dither_shared.sealed import SealKey
    from dither_shared.wire import Batch

_HPKE = "cryptography.hazmat.primitives.hpke"
_MISSING = (
    "sealing reports needs the package cryptography (47 or later), which cannot be imported here; pip install"
    ' "dither[sealed]". Reports are never sent unsealed instead'
)


class SealError(ParameterError):
    """Reports cannot be sealed: HPKE is not there, or the key is of no use."""


def require() -> None:
    """Raise SealError unless HPKE is installed; it is not loaded for that, which takes 10 ms and 7 MB."""
    from importlib.util import find_spec  # noqa: PLC0415 - only users of a key pay for it

    try:
        found = find_spec(_HPKE)
    except (ImportError, ValueError):  # not even the package is there, or what stands in its place is none
        found = None
    if found is None:
        raise SealError("seal", _MISSING)


def sealed(batch: Batch, key: SealKey) -> bytes:
    """Return the body, for a relay, of a batch of one row: its pool in the clear, its row sealed for ``key``.

    Another call returns other bytes, so the body is kept for every retry. Raises SealError.
    """
    from dither_shared.sealed import Pool, SealedReport  # noqa: PLC0415 - only users of a key pay for it

    pool = Pool(batch.metric, batch.version, batch.stratum)
    return SealedReport(pool, sealer(key)(batch.reports, info=pool.info)).encode()


@lru_cache(maxsize=16)
def sealer(key: SealKey) -> Callable[..., bytes]:
    """Return a function that seals bytes, for an ``info``, with ``key``; load and try HPKE. Raises SealError."""
    try:
        with importing():
            from cryptography.hazmat.primitives import hpke  # noqa: PLC0415 - only who seals pays for it

        kem = {"x25519": hpke.KEM.X25519, "xwing": hpke.KEM.MLKEM768_X25519}[key.suite.name]
        suite = hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
        seal = partial(suite.encrypt, public_key=_PUBLIC[key.suite.name](key.public))
        seal(b"")  # a point of low order is refused here, and not with the first report
    except (ImportError, AttributeError):
        raise SealError("seal", _MISSING) from None
    except Exception as error:
        raise SealError("seal", f"nothing can be sealed for {key.fingerprint}: {type(error).__name__}") from None
    return seal


def _x25519(public: bytes) -> X25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey  # noqa: PLC0415 - likewise

    return X25519PublicKey.from_public_bytes(public)


def _xwing(public: bytes) -> hpke.MLKEM768X25519PublicKey:
    from cryptography.hazmat.primitives import hpke  # noqa: PLC0415 - likewise
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey  # noqa: PLC0415 - likewise

    return hpke.MLKEM768X25519PublicKey(MLKEM768PublicKey.from_public_bytes(public[:-32]), _x25519(public[-32:]))


_PUBLIC: Mapping[str, Callable[[bytes], X25519PublicKey | hpke.MLKEM768X25519PublicKey]] = {
    "x25519": _x25519,
    "xwing": _xwing,
}
