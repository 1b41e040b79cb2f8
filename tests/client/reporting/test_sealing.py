"""A sealed report opens to the row that would have been sent in the clear, with its key and in its pool only."""

import dataclasses
import os
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given, settings
from hypothesis import strategies as st

from client.devices import MOBILE
from client.seals import KEY, KEYS, opened, shut
from client.test_processes import needs_fork
from dither.reporting.bodies import SealError, build, read, sealer
from dither.reporting.keys import Keys
from dither_shared import Batch, KeyedEntropy, Metric, Strata, WireError, parse_metrics
from dither_shared.seal_key import SUITES, SealKey
from dither_shared.sealed import Pool, SealedReport

STRATA = Strata.of([("platform", ["linux", "mac os", "linüx"]), ("channel", ["stable", "beta"])])
BATCH = Batch("a" * 32, "theme", "b" * 16, b"row")

KINDS = parse_metrics(f"""[metrics]
one = {{type = "boolean", epsilon = 1.0}}
ten = {{type = "choice", values = {[*"0123456789"]}, epsilon = 1.0, permanent_epsilon = 2.0}}
used = {{type = "selection", values = {[*map(str, range(32))]}, epsilon = 1.0}}
seconds = {{type = "number", low = 0, high = 60, epsilon = 1.0}}
words = {{type = "string", epsilon = 2.0, bits = 2048, hashes = 8, cohorts = 1}}
""")
ANSWERS: dict[str, list[object]] = {
    "boolean": [True, False, None],
    "choice": ["0", "9", "none"],
    "selection": [[], ["1"], [str(number) for number in range(32)]],
    "number": [-1, 0.5, 60, 1e9],
    "string": ["", "a", "x" * 1000],
}


def test_row_sealed_for_one_pool_opens_in_no_other() -> None:
    report = SealedReport.decode(shut(BATCH, KEY))
    for pool in (Pool("them", "b" * 16), Pool("theme", "c" * 16), Pool("theme", "b" * 16, "linux")):
        with pytest.raises(InvalidTag):
            opened(SealedReport(pool, report.sealed).encode())


@needs_fork
def test_sealing_again_or_in_forked_children_shares_no_bytes() -> None:
    """Two rows under one HPKE key would reveal their difference."""
    pieces = [SealedReport.decode(shut(BATCH, KEY)).sealed for _ in range(100)]
    assert len({piece[:32] for piece in pieces}) == len({piece[32:] for piece in pieces}) == 100
    reading, writing = os.pipe()
    for _ in range(3):
        if os.fork() == 0:
            os.write(writing, SealedReport.decode(shut(BATCH, KEY)).sealed)
            os._exit(0)
        os.wait()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        received = pipe.read()
    ours = SealedReport.decode(shut(BATCH, KEY)).sealed
    size = len(ours)
    assert len({ours[:32], *(received[start : start + 32] for start in range(0, 3 * size, size))}) == 4


def pair(metric: Metric, item: Any, seed: bytes, stratum: str | None, suite: str) -> tuple[bytes, bytes]:
    """Return the body in the clear and the sealed body of the same draw."""
    keys = Keys(bytes(32))
    clear, shut = (
        build(variant, item, keys, KeyedEntropy(b"device", seed), 739_000, False, stratum=stratum).body
        for variant in (metric, dataclasses.replace(metric, seal=KEYS[suite]))
    )
    return clear, shut


@pytest.mark.parametrize("body", [b"", b"{}", b'{"pool":"theme"}', b'{"pool"', b"\xff"])
def test_body_that_no_client_wrote_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        read(body)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_report_opens_to_its_row_and_has_one_sealed_length(name: str) -> None:
    metric, lengths = KINDS[name], set()
    for number, value in enumerate(ANSWERS[metric.question.kind]):
        clear, shut = pair(metric, metric.item(value), b"%d" % number, None, "x25519")
        assert opened(shut) == read(clear).row
        assert read(shut)[:3] == read(clear)[:3]
        lengths.add(len(shut))
    assert len(lengths) == 1


@settings(max_examples=20)
@given(st.binary(max_size=8), st.booleans(), st.sampled_from([None, *STRATA.labels]), st.sampled_from(sorted(SUITES)))
def test_sealed_row_equals_the_row_in_the_clear_of_the_same_draw(
    seed: bytes, value: bool, stratum: str | None, suite: str
) -> None:
    metric = MOBILE if stratum is None else dataclasses.replace(MOBILE, strata=STRATA)
    clear, shut = pair(metric, metric.item(value), seed, stratum, suite)
    assert opened(shut, suite) == read(clear).row
    assert read(shut) == read(clear)._replace(row=b"")


def test_key_of_low_order_is_refused_before_a_report_is_drawn() -> None:
    with pytest.raises(SealError, match=r"^seal: nothing can be sealed for [0-9a-f]{16}: ValueError$"):
        sealer(SealKey(SUITES["x25519"], bytes(32)))
