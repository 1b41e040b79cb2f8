"""Batches as collectors append them to a spool, and a slow fold of them, one at a time with dictionaries."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dither_server.store.folds import FoldSums
from dither_server.tally.blocks import Blocks, from_blocks, no_blocks
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, Metric, Report, WireError, parse_metrics
from dither_spool.bucket import FoldedBucket
from dither_spool.records import Ids
from server.collecting import METRICS_TOML, STRATA_TOML

FOLDED = parse_metrics(
    METRICS_TOML
    + STRATA_TOML
    + f"""
[metrics.listed]
type = "choice"
mechanism = "subset-selection"
values = {[f"v{number}" for number in range(100)]}
epsilon = 4.0

[metrics.many]
type = "choice"
mechanism = "randomized-response"
values = {[f"v{number}" for number in range(300)]}
epsilon = 4.0
"""
)
"""Metrics of symbols of one byte and of two, of bits with cohorts, of lists, with strata and without."""


def version_of(metric: Metric) -> bytes:
    """The version of a metric as a record holds it."""
    return bytes.fromhex(metric.version)


NOTHING = FoldSums()._asdict() | {"unknown": 0}

MECHANISMS = {version_of(metric): metric.mechanism for metric in FOLDED.values()}


class Delivery(NamedTuple):
    """A batch that came to a collector. The order of the fields is that in which batches count, except for the rows."""

    batch: bytes
    version: bytes
    day: int
    stratum: int
    rows: bytes


def ids_of(batches: Iterable[bytes]) -> Ids:
    """Return ids as the fold takes them, ascending."""
    return np.frombuffer(b"".join(sorted(batches)), dtype=np.uint8).reshape(-1, 16)


def in_order(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Return deliveries in the order in which the first of each batch counts."""
    return sorted(deliveries, key=lambda one: (*one[:4], len(one.rows), one.rows))


class Expected(NamedTuple):
    """The expected result of a fold."""

    tallies: dict[tuple[bytes, int, int], Tally]
    ids: list[bytes]
    conflicts: dict[tuple[bytes, int], int]
    numbers: dict[str, int]


def expected(
    deliveries: Iterable[Delivery], seen: Collection[bytes], mechanisms: Mapping[bytes, Mechanism]
) -> Expected:
    """Fold by the definition, one delivery at a time."""
    counted: dict[bytes, Delivery] = {}
    numbers: Counter[str] = Counter(NOTHING)
    conflicts: Counter[tuple[bytes, int]] = Counter()
    for delivery in in_order(deliveries):
        first = counted.get(delivery.batch)
        if delivery.batch in seen:
            numbers["repeated"] += 1
        elif delivery.version not in mechanisms:
            numbers["unknown"] += 1
        elif reports_of(mechanisms[delivery.version], delivery.rows) is None:
            numbers["damaged"] += 1
        elif first is None:
            counted[delivery.batch] = delivery
            numbers["batches"] += 1
        else:
            alike = (first.version, first.stratum, first.rows) == (delivery.version, delivery.stratum, delivery.rows)
            numbers["repeated" if alike else "conflicts"] += 1
            if not alike:
                conflicts[delivery.version, delivery.day] += 1
    tallies: dict[tuple[bytes, int, int], Tally] = {}
    for delivery in counted.values():
        mechanism = mechanisms[delivery.version]
        for report in reports_of(mechanism, delivery.rows) or ():
            tally = tallies.setdefault((delivery.version, delivery.day, delivery.stratum), Tally.zero(mechanism))
            tally.reports[report.cohort] += 1
            tally.counts[report.cohort, list(report.cells(mechanism))] += 1
            numbers["rows"] += 1
    return Expected(tallies, sorted(counted), dict(conflicts), dict(numbers))


def reports_of(mechanism: Mechanism, rows: bytes) -> list[Report] | None:
    """Return the reports of a batch, or None if no device could have sent one of them."""
    width = mechanism.row_bytes
    try:
        return [Report.decode(rows[start : start + width], mechanism) for start in range(0, len(rows), width)]
    except WireError:
        return None


def tally_of(mechanism: Mechanism, blocks: Blocks) -> Tally:
    """Return the tally whose nonzero blocks these are."""
    whole = no_blocks(mechanism)
    whole[blocks.numbers] = blocks.counts
    return from_blocks(mechanism, whole)


def numbers_of(folded: FoldedBucket) -> dict[str, int]:
    """Return the outcomes of the records."""
    assert folded.sums.conflicts == sum(folded.conflicts.values())
    return folded.sums._asdict() | {"unknown": folded.unknown}
