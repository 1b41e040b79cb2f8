"""Bodies of uploads: build a report, in the clear or sealed, and read it.

A body in the clear holds one row for the collector itself; a sealed one is for a relay to carry, which cannot read it.
The bytes of a body show its kind, so the kind is not stored. A report's body is built once: it is previewed, stored,
sent and sent again, byte for byte. A report for a relay is sealed in memory: its row in the clear is never stored.

HPKE (RFC 9180) comes from the package ``cryptography``, which only this module imports, just before the first report is
sealed; apps without a key do not need the package. Only the collector can open what is sealed: HPKE draws an ephemeral
key for each row and discards it, so not even this device can read the row again.
"""

from __future__ import annotations

from dither_shared.errors import ParameterError
from dither_shared.light import NamedTuple, is_of_signal_handler, lru_cache, partial
from dither_shared.wire import Batch

from ..forks import importing
from ..state.journal_records import Queued

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cryptography.hazmat.primitives import hpke
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    from dither_shared.mechanism import Item
    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy
    from dither_shared.seal_key import SealKey

    from .keys import Keys

BATCH_BYTES = 16
_HPKE = "cryptography.hazmat.primitives.hpke"
_MISSING = (
    "sealing reports needs the package cryptography (47 or later), which cannot be imported here; pip install"
    ' "dither[sealed]". Reports are never sent unsealed instead'
)


class _Body(NamedTuple):
    """The readable content of a body; ``row`` is empty if it is sealed, because then only the collector can read it."""

    metric: str
    version: str
    stratum: str | None
    row: bytes


class BodyKind(NamedTuple):
    """A kind of body: its name, and the path below the endpoint to which it is posted."""

    word: str
    path: str


CLEAR = BodyKind("in the clear", "/v1/reports")
SEALED = BodyKind("sealed", "/v1/sealed")


def kind_of(body: bytes) -> BodyKind:
    """Return the kind of a body, by how it begins."""
    return SEALED if body.startswith(b'{"pool"') else CLEAR


def kind_for(metrics: Iterable[Metric]) -> BodyKind:
    """Return the kind of body that reports of ``metrics`` are sent as: all are sealed, or none."""
    return CLEAR if all(metric.seal is None for metric in metrics) else SEALED


def read(body: bytes) -> _Body:
    """Return the readable content of a body; raise WireError for a body that no client wrote."""
    if kind_of(body) is CLEAR:
        batch = Batch.decode(body)
        return _Body(batch.metric, batch.version, batch.stratum, batch.reports)
    with importing():
        from dither_shared.sealed import SealedReport  # noqa: PLC0415 - only users of a key pay for it

    pool = SealedReport.decode(body).pool
    return _Body(pool.metric, pool.version, pool.stratum, b"")


def build(
    metric: Metric,
    item: Item,
    keys: Keys,
    entropy: Entropy,
    today: int,
    local: bool,
    drawn: int | None = None,
    stratum: str | None = None,
) -> Queued:
    """Draw one report of ``item`` and return it as the body of its upload, sealed if the metric has a key.

    If the mechanism has permanent draws, the cohort is the device's own, so that reports repeat it; otherwise it is
    drawn for each report, so that two reports share nothing. Each upload has a random batch id, which a sealed body
    does not contain. ``drawn`` is the permanent draw to repeat, if it is not that of ``item``. ``stratum`` is sent in
    the clear; no draw depends on it. A ``local`` report is never sent, so it is not sealed, and the user can read it.
    Raises SealError if nothing can be sealed; the draw is then discarded.
    """
    draws = metric.draws
    if draws.memoised:
        version_keys = keys.of(metric)
        row = draws.row(version_keys.cohort, draws.repeat(version_keys.draw(item) if drawn is None else drawn, entropy))
    else:
        row = draw_row(metric, item, entropy)
    return enclosed(metric, entropy.take(BATCH_BYTES).hex(), row, today, local, stratum)


def draw_row(metric: Metric, item: Item, entropy: Entropy, cohort: int | None = None) -> bytes:
    """Draw the row of one report of ``item`` by a mechanism without permanent draws, in ``cohort`` or a random one."""
    draws = metric.draws
    if cohort is None:
        cohort = draws.draw_cohort(entropy)
    return draws.row(cohort, draws.randomize(item, entropy, cohort))


def enclosed(metric: Metric, name: str, row: bytes, today: int, local: bool, stratum: str | None) -> Queued:
    """Return a row as the body of its upload, with the batch id ``name``; ``build`` says the rest."""
    # Without calling the class itself, because this is done for each report; other records do the same.
    batch = tuple.__new__(Batch, (name, metric.name, metric.version, row, stratum))
    body = batch.encode() if local or metric.seal is None else sealed(batch, metric, today)
    return tuple.__new__(Queued, (name, metric.name, today, int(local), body))


class SealError(ParameterError):
    """Reports cannot be sealed: HPKE is missing, or the key cannot be used."""


def require() -> None:
    """Raise SealError unless HPKE is installed; it is not loaded for that, which takes 10 ms and 7 MB."""
    from importlib.util import find_spec  # noqa: PLC0415 - only users of a key pay for it

    try:
        spec = find_spec(_HPKE)
    except (ImportError, ValueError):  # the package is missing, or a module has its name
        spec = None
    if spec is None:
        raise SealError("seal", _MISSING)


def sealed(batch: Batch, metric: Metric, today: int) -> bytes:
    """Return the body, for a relay, of a batch of one row: its pool in the clear, its row sealed for the metric's key.

    The pool names the period of the day ``today``, in which the metric reports once. Another call returns other bytes,
    so the body is kept for every retry. Raises SealError.
    """
    with importing():
        from dither_shared.sealed import Pool, SealedReport, pool_period  # noqa: PLC0415 - likewise

    if metric.seal is None:
        raise SealError("seal", f"metrics.{metric.name} has no key")
    pool = Pool(batch.metric, batch.version, batch.stratum, pool_period(metric.period, today), metric.least)
    return SealedReport(pool, sealer(metric.seal)(batch.reports, info=pool.info)).encode()


@lru_cache(maxsize=16)
def sealer(key: SealKey) -> Callable[..., bytes]:
    """Return a function that seals bytes, for an ``info``, with ``key``; load and try HPKE. Raises SealError."""
    try:
        with importing():
            from cryptography.hazmat.primitives import hpke  # noqa: PLC0415 - only who seals pays for it

            kem = {"x25519": hpke.KEM.X25519, "xwing": hpke.KEM.MLKEM768_X25519}[key.suite.name]
            suite = hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
            seal = partial(suite.encrypt, public_key=_PUBLIC[key.suite.name](key.public))  # imports more
            seal(b"")  # a point of low order is refused here, and not with the first report
    except (ImportError, AttributeError):
        raise SealError("seal", _MISSING) from None
    except Exception as error:
        if is_of_signal_handler(error):
            raise
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
