"""What a relay is told: which reports it may take, and how many of them it may send at a time."""

from collections.abc import Collection, Iterator, Mapping

from dither_shared import Metric
from dither_shared.sealed import Pool, Suite

__all__ = ["pools"]


def pools(versions: Mapping[str, Mapping[str, Metric]], suites: Collection[Suite]) -> Iterator[dict[str, object]]:
    """Yield each pool of these metrics, in each of their versions: its name, suite, and the bytes of a sealed row."""
    for name, of_metric in versions.items():
        for version, metric in of_metric.items():
            strata = [None] if metric.strata is None else metric.strata.labels
            for stratum in strata:
                pool = str(Pool(name, version, stratum))
                for suite in suites:
                    length = metric.mechanism.row_bytes + suite.overhead
                    yield {"pool": pool, "suite": suite.name, "length": length}
