"""Published numbers of X-Wing (ML-KEM-768 with X25519), by itself and in HPKE: those which the tests need, and no file.

- ``XWING``: the first of the test vectors of draft-connolly-cfrg-xwing-kem ("X-Wing: general-purpose hybrid
  post-quantum KEM"), appendix "Test vectors": spec/test-vectors.json of its repository as of 2026-03-02.
- ``HPKE``: that of draft-ietf-hpke-pq ("Post-Quantum and Post-Quantum/Traditional Hybrid Algorithms for HPKE") with
  mode 0 (base), KEM 0x647a (X-Wing), KDF 0x0001 (HKDF-SHA256), AEAD 0x0003 (ChaCha20-Poly1305), which is our suite:
  test-vectors.json of its repository as of 2026-04-17, the first message. ``info`` is ASCII hex there, and so here.

Both are contributions to the IETF, under BCP 78 and the IETF Trust's Legal Provisions (code components: Simplified BSD
License). Byte strings of more than 64 bytes stand in base64, all others in hex.
"""

from base64 import b64decode
from typing import NamedTuple

__all__ = ["HPKE", "XWING", "Encapsulation", "Message"]


class Encapsulation(NamedTuple):
    """A key's seed, SHA-256 of its public key, what was encapsulated for it, and the secret that this shares."""

    seed: bytes
    public_digest: bytes
    encapsulated: bytes
    shared: bytes


class Message(NamedTuple):
    """The first message of a context of HPKE, and the key and nonce with which it is encrypted."""

    encapsulation: Encapsulation
    info: bytes
    key: bytes
    nonce: bytes
    aad: bytes
    row: bytes
    encrypted: bytes


_XWING = (
    "uDqoKNTWK5qDzv/h09O7HvMSZGQ8BwxXmJJ+QfsHkUonP4+W54Js1TdaKD19qIUwTF3gUWoPBlQkPcW5f4v+uDH2glEhmqvdcjvGUSBBrLrvivRC"
    "ZVJJQrkC5o/9IyIc2nCxtV13apLRFD6joMR19j7miQFXxxFtrj9iv3L2Cs0ruMwxziug3jZPUrjtOMedcZcVljpd04QtjotDq3BOR1m1MnvwJ8Y8"
    "j6hXxJCNWop7iKx/K+OU2Tw3Bt3U5pjMbONwEB9NAhMlQji0ouiCG25BShzyD2wSRLaZBG9aAcqgoaVVFjALQNIEjHfMc6+6ea/uqdLAEYvfKtuI"
    "cNwyjFUWzEWxogWBQQOeLJChEKnhazGN+1O9SaEm1rc/IVeHUXuJF8wByr0QfQaFmFTui0+YYcIm03ZMhzOasWw2Z9L0k4TlVFbdQEFLcKavhBWF"
    "9MkMaHJdV3BO6O585uL5vlgtvumF4Dj/w0br+04iFYtshDdKmrSkTh+R3lqsUZf4m8XlRC9R+aWTexAro76uv24cWDgKSl/tzkpOUCb4j1KPWf/S"
    "20F1Kzo9kO+r5GOJm31AhwxTDIhB6HErczZo7QM62/r7LUnTekTUBk5YY+sK8KCNR7PMiINzvAX3ozuEG8JYfFfraVVOijdnt1BpF7a3BJhyfxbq"
    "waNuyNjPr3UVSfInfbJ36KVamlEGsjoCBrRyH6mzBIVSxb1bWU1uJH84wYxZGup/ViSccs57EXr8w6hiFYL5z3F4fhg97gk2eXbphAmtkhekl9+I"
    "gEI4TXcHprePX3+4QJ47U1F1NzRht3YALXmcutYoYL5wVz7L4Tskbg2n6TpSFo4Ptql1a4le9/AUeg3IG/pkSwiKkigWDA+azxN5opQc0owG68gO"
    "ROF6ovgXcBCv14qXzgho0WKeuylMUVGBLFg9rriGhSIPTakRgRLgcEH8wk1VZKmf294ohp/gciOH16mk0W4cyFVZF+CZRKpeuqrsLPYmk6+tQqP1"
    "GPzmfSc8xsn7VHKzgOhXPsfeBqO6L9X5MdcltJMCbLCsvT/mLQDkx5DZZdegOjwLQiK6jCqaFuKsZY9XKuDnRur8T+ugI1dvCJQieKBB+4KnClld"
    "W6y/KXziApiYpx5cOw0cYii0hbGt5QmzX7yn7Kl7ITLny2vEZTdRRrfc6slpMIrAwqyJ54Y+uJQwFbJDFMr7nHwOhf5UPVZljCE2Mlme+r/B7End"
    "jIhUe7LMQMnTjL0wmbRUeEBWBTHQGIzR6cI6Dr7goD1Vd9ZrHSvLS6ryHMf+8eA4BsqWKZ3w37xW4bK0Pk/CDDf4NMSvYhJ+fa6Gw8JaL2lqyLWJ"
    "3scdWVv76Ute1LwH2ACzMHlv2ontt3vgKUE2E5NU64zTdZFXj5xgDdm+jsYhn91Qet8zl+1NaHB7jROyTOTNj7IoUb/p1jJAfzHtb3yxYA3lbxdX"
    "Z0DOKjL8UUUDAUXPuX5j4OQdNUJ0oHnT5vsuFQ=="
)

_HPKE = (
    "JnWceyKSPqXMnHjj4UyPxi3LCmbOREYJZpeKf+loXgxtIpmdmaPxEsMHptWy5jWR9B6KNRa6YpCDdtZkVXIG5pauhwMF/2uggSUma8B2VnK+ypD9"
    "XG2uDT3a0VBgZanU8pfgw+cLtEGWHfJtehnXnR734qxeU7MqPHtOB/KvKuZYMKPo0csqwZMvwZ7FQ0MDtiydAQZFz5WkdZE9pdd6KCuIQC5Kd6sX"
    "sJVZ3OipbGeie+qPZTzqyj0ni27RUP6TbdoosXJmZclGyrMDY++J64eP/MdMqid6XasZlBk6Z5ZxJevVCYbcFpl7j3SE19DifHn/S2ggHBtBAvWn"
    "MyL9Palr9lXZDJseYwXgGrGzRJ6j9Fiw6Y4fLRYyglw7MAGLte77zID3Z9C55/n3MeGVgIOHnrzBtbsGHokwLERKhe7tFpsQ0lIP1HtqERkU872i"
    "8x0E8lBSK6lRASpin6LNIZJYPMmr110Ct6Ef0YBWxBS48OCTZTW/m2N8fmFKGum56Qf+nRQkPxNiXskql1meqkkbnakYtYbifTTHJ5IF3XbPDs2/"
    "YLWupM+53KQQafPi/I83GnzzsInqRp2EF72jFJFZmSOZzNW693ag+JZtR0LL7a6sEx3ehTyx+7e4aaTAHOqKSHouUudXv0387COZXl8IiATSz5nI"
    "Lwh0VBRMxYaEXXz4EknnrZGeobBgAa0TUB2hGO4ZhZWVAVtLGHKRLdLU9d2FTxRK4HA4vYuytJj47csccMIQKvdo1QihtCNyOMDG40qcgZsOvyj0"
    "lQXTdAlbK1jHqBDPHoBss8ea87yEyLZXeHgE43TfK0m+asUQ1DAk5l/QMVQKfNRck0itn1URuWm+b5xNhJwUKPYRIlsNmjrjQWabpkW6qHfNw0w5"
    "9ZdfSZGnf4bsosJevuY6BpKMG7yVE/NVR2Reg1VEweSo8z1/KcHPveZCX6Ba7/afNzqoooHJKBfL5b6TBXlTVO/HGolGLofOg5GdZ53L/e2I9//5"
    "F39LSeipWdmqeLY/65n6VnNd8PT8JTZTqRd/dnswe7Kp5+TZBC8izGxPF324Dvrr/vijuqbxQjM1yDAwjCSWEYJj8L02HZP4tOdafLqUwq9y3RPu"
    "iSZSTP6d8U95Flo0mLn9Yxy7h00lsRMV+ay0QlElYc99xgmKCIdPzHBM3V6E5XgRpJ54+9VuWo52dhcyHClQlVleorD0qsow3Th0mrg1Mr4b3PTD"
    "KhGeA1VYu0J9vbgGtOFc6o3zwJhyjCteQCCcUThTHbG2YHd1ROagFEd6fRuT6w8kX+nnBTmXwQUE72kvIWOchtiSbdzmiG0MOet8WTV+5U+BhxAZ"
    "WTcT9KbfN79wAzWGlM/1mvmHLKAr92LiBJkifbovVSIDRZ3MaXgO8I2bq0FA2W4cR48Gtjtgyb+xDZDjHUdXDqlJq46bmdtuwviip33LJcw2tzPf"
    "wJuCmanXsZ5owJrYJwP5tH000aPLr+Qsc/V9Dg=="
)

XWING = Encapsulation(
    seed=bytes.fromhex("7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26"),
    public_digest=bytes.fromhex("2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb"),
    encapsulated=b64decode(_XWING),
    shared=bytes.fromhex("d2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384"),
)

HPKE = Message(
    Encapsulation(
        seed=bytes.fromhex("3ec47fa82dd5689d27c6190e724c74ec8f608df3331ce331929e37b829676630"),
        public_digest=bytes.fromhex("ad8aaf3f00d8a39bfeec2947a7d5dde68be08bba19bd301a348a45dc5fcc8341"),
        encapsulated=b64decode(_HPKE),
        shared=bytes.fromhex("58200ed1f137bd95a921bb47f6aaecf2395b26f7fd24efd3a5ffae4849e8dea3"),
    ),
    info=b"4f6465206f6e2061204772656369616e2055726e",
    key=bytes.fromhex("131c2ebb469b909a40915914afd7ff5e638888ac7195dcaaaef8f9a84f0e4030"),
    nonce=bytes.fromhex("2b7a68f19e6cdbd43dda3c6d"),
    aad=bytes.fromhex("436f756e742d30"),
    row=b"4265617574792069732074727574682c20747275746820626561757479",
    encrypted=bytes.fromhex(
        "c5c591f99092d5e38df0a52699af249c66f8275a863423c076de8147a53e65cc584041c963"
        "b77a7e59ea93841b1339b5efda8909b71f74bb0073ad62e899de310c1566dea2fd29eba377"
    ),
)
