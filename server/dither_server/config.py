"""What a collector is told at its start."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Self

from dither_shared import Metric, ParameterError, load_metrics

__all__ = ["DB_VARIABLE", "METRICS_VARIABLE", "Config", "utc_today"]

RETRY_DAYS = 30
"""For how long a device may send a batch again: the client's outbox keeps none for longer."""

METRICS_VARIABLE = "DITHER_METRICS"
DB_VARIABLE = "DITHER_DB"


def utc_today() -> date:
    """Return today's date in UTC: the finest time that a collector ever keeps."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, kw_only=True)
class Config:
    """Metrics, database and limits. Raises ParameterError for a limit that is not positive.

    - ``metrics``: the path of a ``metrics.toml``, or its metrics by name;
    - ``db``: a database URL such as ``sqlite:///dither.db``;
    - ``body_limit``: bytes of a request's body; ``rows_limit``: report rows of a batch;
    - ``queue_limit``: batches that may wait for the committer; ``queue_bytes``: bytes of their rows;
      ``group_limit``: batches of one transaction;
    - ``horizon``: days after which batch ids are forgotten, and a batch sent again would count again;
    - ``lock_wait``: seconds to wait for another process's write lock;
    - ``answer_wait``: seconds that a request waits for its commit before it is told to come again;
    - ``today``: the clock, which tells days and nothing finer.
    """

    metrics: str | Path | Mapping[str, Metric]
    db: str
    body_limit: int = 1 << 20
    rows_limit: int = 100_000
    queue_limit: int = 1024
    queue_bytes: int = 1 << 26
    group_limit: int = 512
    horizon: int = 45
    lock_wait: float = 5.0
    answer_wait: float = 30.0
    today: Callable[[], date] = utc_today

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and value <= 0:
                raise ParameterError(field.name, f"{value!r} is not positive")
        if self.horizon <= RETRY_DAYS:
            raise ParameterError("horizon", f"{self.horizon} is not above {RETRY_DAYS}; devices retry for so many days")

    @classmethod
    def from_environment(cls) -> Self:
        """Return the configuration that ``DITHER_METRICS`` and ``DITHER_DB`` describe."""
        return cls(
            metrics=_variable(METRICS_VARIABLE, "metrics.toml"), db=_variable(DB_VARIABLE, "sqlite:///dither.db")
        )

    def load(self) -> dict[str, Metric]:
        """Return the metrics by name; raise ParameterError if the file cannot be read or is wrong."""
        if isinstance(self.metrics, Mapping):
            return dict(self.metrics)
        return load_metrics(self.metrics)


def _variable(name: str, example: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ParameterError(name, f"not set in the environment; for example {name}={example}")
    return value
