"""HPKE as RFC 9180 has it, by a second sender that is written out here, and with X-Wing as two drafts have it."""

import hashlib
import hmac
from datetime import date
from types import SimpleNamespace

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import mlkem
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dither_server.ingest.hpke import draw_key, opener, require_cryptography
from dither_server.ingest.seal_keys import SecretKey
from dither_shared import ParameterError
from dither_shared.seal_key import SUITES, SealKey
from server.collecting import THEME
from server.ingest.sealed.sealing import drawn, pool, seal
from server.ingest.sealed.xwing_vectors import HPKE, XWING, Encapsulation

KEM_ID = b"KEM" + (32).to_bytes(2, "big")
HPKE_ID = b"HPKE" + bytes.fromhex("002000010003")
XWING_ID = b"HPKE" + bytes.fromhex("647a00010003")


def extract(salt: bytes, suite: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, hashlib.sha256)


def expand(key: bytes, suite: bytes, label: bytes, info: bytes, length: int) -> bytes:
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, text + b"\x01", hashlib.sha256)[:length]


def sealed_by_the_book(row: bytes, public: bytes, info: bytes, aad: bytes, ephemeral: X25519PrivateKey) -> bytes:
    """RFC 9180, sections 4.1, 5.1 and 5.2: base mode, one message."""
    enc = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    secret = expand(extract(b"", KEM_ID, b"eae_prk", shared), KEM_ID, b"shared_secret", enc + public, 32)
    key, nonce = scheduled(secret, HPKE_ID, info)
    return enc + ChaCha20Poly1305(key).encrypt(nonce, row, aad)


def scheduled(secret: bytes, suite: bytes, info: bytes) -> tuple[bytes, bytes]:
    """RFC 9180, section 5.1, base mode: key and first nonce."""
    hashes = extract(b"", suite, b"psk_id_hash", b"") + extract(b"", suite, b"info_hash", info)
    whole = extract(secret, suite, b"secret", b"")
    return expand(whole, suite, b"key", b"\0" + hashes, 32), expand(whole, suite, b"base_nonce", b"\0" + hashes, 12)


def of_seed(published: Encapsulation) -> SecretKey:
    """Return a published key as a key file holds it: X-Wing's expansion of a seed (its draft, section 5.2)."""
    private = hashlib.shake_256(published.seed).digest(64 + 32)
    lattice = mlkem.MLKEM768PrivateKey.from_seed_bytes(private[:64]).public_key().public_bytes_raw()
    curve = X25519PrivateKey.from_private_bytes(private[64:]).public_key().public_bytes_raw()
    assert hashlib.sha256(lattice + curve).digest() == published.public_digest
    return SecretKey(SealKey(SUITES["xwing"], lattice + curve), date(2026, 11, 23), private)


def test_sealing_by_the_book_matches_the_rfc_vector() -> None:
    """Appendix A.2.1, the first message."""
    ephemeral = "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600"
    public = "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a"
    row = "4265617574792069732074727574682c20747275746820626561757479"
    sealed = sealed_by_the_book(
        bytes.fromhex(row),
        bytes.fromhex(public),
        bytes.fromhex("4f6465206f6e2061204772656369616e2055726e"),
        b"Count-0",
        X25519PrivateKey.from_private_bytes(bytes.fromhex(ephemeral)),
    )
    assert sealed.hex() == (
        "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
        "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"
    )


def test_row_sealed_by_the_rfc_opens_for_its_key_and_pool_alone() -> None:
    key, other = drawn(), drawn()
    opened, not_opened = opener(key.public, key.private), opener(other.public, other.private)
    info = b"dither sealed 1\0" + f"theme/{THEME.version}/once/1".encode()
    sealed = sealed_by_the_book(b"row", key.public.public, info, b"", X25519PrivateKey.generate())
    assert len(sealed) == 3 + SUITES["x25519"].overhead
    assert opened(sealed, info) == b"row" == opened(sealed, pool(THEME).info)
    assert (opened(sealed, info + b"/linux"), not_opened(sealed, info)) == (None, None)
    for place in (0, 31, 32, 34, 50):
        broken = bytearray(sealed)
        broken[place] ^= 1
        assert opened(bytes(broken), info) is None


def test_what_was_encapsulated_by_the_draft_of_hpke_with_x_wing_opens() -> None:
    """Our suite: key and nonce are published, and the message, whose associated data is not empty as ours always is.

    So the message shows what the AEAD makes of them, and what it makes of them without such data is to open.
    """
    cipher, info = ChaCha20Poly1305(HPKE.key), HPKE.info
    assert scheduled(HPKE.encapsulation.shared, XWING_ID, info) == (HPKE.key, HPKE.nonce)
    assert cipher.encrypt(HPKE.nonce, HPKE.row, HPKE.aad) == HPKE.encrypted
    key = of_seed(HPKE.encapsulation)
    opened = opener(key.public, key.private)
    assert opened(HPKE.encapsulation.encapsulated + cipher.encrypt(HPKE.nonce, HPKE.row, b""), info) == HPKE.row
    assert opened(HPKE.encapsulation.encapsulated + HPKE.encrypted, info) is None


def test_what_was_encapsulated_by_the_draft_of_x_wing_opens() -> None:
    """Other people encapsulated this one; from the shared secret on it is HPKE by the book."""
    key, info = of_seed(XWING), pool(THEME).info
    cipher, nonce = scheduled(XWING.shared, XWING_ID, info)
    sealed = XWING.encapsulated + ChaCha20Poly1305(cipher).encrypt(nonce, b"row", b"")
    assert opener(key.public, key.private)(sealed, info) == b"row"
    for place in (0, 1087, 1088, 1119):  # of ML-KEM's part, whose failure only shows in the secret, and of X25519's
        broken = bytearray(sealed)
        broken[place] ^= 1
        assert opener(key.public, key.private)(bytes(broken), info) is None


@pytest.mark.parametrize("suite", SUITES)
def test_a_drawn_key_opens_what_is_sealed_for_it(suite: str) -> None:
    key = drawn(suite)
    assert SealKey.parse(str(key.public)) == key.public
    for row in (b"\0", bytes(300)):
        sealed = seal(row, key.public, pool(THEME))
        assert len(sealed) == len(row) + SUITES[suite].overhead
        assert opener(key.public, key.private)(sealed, pool(THEME).info) == row
    assert draw_key(SUITES[suite])[0] != key.public


@pytest.mark.parametrize("suite", SUITES)
def test_private_key_that_is_not_that_of_the_public_one_is_refused(suite: str) -> None:
    key = drawn(suite)
    for private in (b"", b"short", drawn(suite).private):
        with pytest.raises(ParameterError, match=f"key {key.public.fingerprint}: its private part does not match the"):
            opener(key.public, private)


def test_error_without_the_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> object:
        raise ModuleNotFoundError("cryptography")

    key = drawn()
    for find_spec in (missing, lambda _: None):
        monkeypatch.setattr("dither_server.ingest.hpke.find_spec", find_spec)
        for call in (require_cryptography, lambda: draw_key(SUITES["xwing"]), lambda: opener(key.public, key.private)):
            with pytest.raises(ParameterError, match=r"pip install 'dither\[server,sealed\]'"):
                call()


def test_package_without_ml_kem_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package built with an OpenSSL before 3.5 has the module, but its functions raise."""

    def lacking(*_: object) -> None:
        raise UnsupportedAlgorithm("ML-KEM-768 is not supported by this version of OpenSSL")

    key, plain = drawn("xwing"), drawn()
    monkeypatch.setattr(mlkem, "MLKEM768PrivateKey", SimpleNamespace(from_seed_bytes=lacking, generate=lacking))
    for call in (lambda: draw_key(SUITES["xwing"]), lambda: opener(key.public, key.private)):
        with pytest.raises(ParameterError, match="keys of xwing: the package cryptography here was built without it"):
            call()
    assert opener(plain.public, plain.private)(seal(b"row", plain.public, pool(THEME)), pool(THEME).info) == b"row"


@pytest.mark.parametrize("suite", SUITES)
def test_nobody_can_change_a_bit_of_a_sealed_row_so_that_it_still_opens(suite: str) -> None:
    """Otherwise a relay could make two rows of one, which would count twice.

    The last bit of a key of X25519 changes nothing in the exchange itself (RFC 7748, section 5); but it is hashed.
    """
    key = drawn(suite)
    opened, info = opener(key.public, key.private), pool(THEME).info
    sealed = seal(b"\x01", key.public, pool(THEME))
    assert opened(sealed, info) == b"\x01"
    step = 1 if suite == "x25519" else 7  # which is prime to 8: bits at every place within a byte, in every part
    for bit in {*range(0, 8 * len(sealed), step), 8 * (len(sealed) - len(b"\x01") - 16) - 1, 8 * len(sealed) - 1}:
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        assert opened(bytes(changed), info) is None, bit
