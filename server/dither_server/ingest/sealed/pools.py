"""List for relays which reports they may take: by digests, so that the list tells nobody the names of metrics."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dither_shared import Metric
from dither_shared.sealed import Pool, Suite

__all__ = ["pools"]


def pools(versions: Mapping[str, Mapping[str, Metric]], suites: Collection[Suite]) -> Iterator[dict[str, Any]]:
    """Yield each pool of these metrics, in each of their versions: its digest, suite, and the bytes of a sealed row."""
    for name, of_metric in versions.items():
        for version, metric in of_metric.items():
            strata = [None] if metric.strata is None else metric.strata.labels
            for stratum in strata:
                pool = Pool(name, version, stratum).digest
                for suite in suites:
                    length = metric.mechanism.row_bytes + suite.overhead
                    yield {"pool": pool, "suite": suite.name, "length": length}
