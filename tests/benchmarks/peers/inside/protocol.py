"""The protocol between the bench and an environment: one JSON object a line, a case in and a finding out."""

import json
import math
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Literal

Kind = Literal["error", "leak"]

FEW = 5
"""With at least this many runs, a standard error is taken over runs; with fewer, over the values of each run."""


@dataclass(frozen=True)
class Case:
    """One thing to measure: the ``kind`` of question, of which mechanism, where, and how long it may take."""

    kind: Kind
    mechanism: str
    size: int
    epsilon: float
    seed: int
    counts: list[int] = field(default_factory=list, repr=False)
    """How many users hold each value."""
    seconds: float = 5.0
    """A budget: the users are as many as this affords, the runs as many as fit in it, but there is always one."""
    runs: int = 20
    draws: int = 0
    """Of a leak: how many reports of each of two inputs train the attack, and as many again judge it."""

    def encode(self) -> str:
        """Return the case as a line."""
        return json.dumps(asdict(self))


def decode_case(line: str) -> Case:
    """Return the case of a line."""
    return Case(**json.loads(line))


@dataclass(frozen=True)
class Finding:
    """The result of a case; ``users`` took part in each run, fewer than asked if the budget was short."""

    case: Case
    users: int = 0
    raw: list[float] = field(default_factory=list)
    """The mean squared error of each run, of estimates before any clipping."""
    raw_within: list[float] = field(default_factory=list)
    """Its standard error over the values, were they independent."""
    trained: list[dict[str, int]] = field(default_factory=list)
    judged: list[dict[str, int]] = field(default_factory=list)
    """How often each feature was seen for either input of a leak, in training and in judging."""
    declared: float = 0.0

    def encode(self) -> str:
        """Return the finding as a line."""
        return json.dumps(asdict(self))

    @property
    def scale(self) -> float:
        """The factor from a raw error to that of all the users: noise goes with 1/n."""
        return self.users / sum(self.case.counts)

    def error(self) -> tuple[float, float]:
        """Return the raw mean squared error at all the users, and its standard error."""
        mean, deviation = _mean(self.raw, self.raw_within)
        return mean * self.scale, deviation * self.scale


def decode_finding(line: str) -> Finding:
    """Return the finding of a line."""
    values = json.loads(line)
    return Finding(**{**values, "case": Case(**values["case"])})


def _mean(values: list[float], within: list[float]) -> tuple[float, float]:
    if len(values) >= FEW:
        return fmean(values), stdev(values) / math.sqrt(len(values))
    return fmean(values), math.sqrt(sum(one**2 for one in within)) / len(within)
