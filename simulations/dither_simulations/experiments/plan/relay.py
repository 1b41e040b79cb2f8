"""``dither-sim plan --relay``: compute how many people an answer needs if a relay mixes reports, given a batch's ε."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_server.analysis.composition import rounded_up
from dither_server.analysis.shuffling.amplified import CONDITIONS, amplified, local_epsilon
from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.definition import MOST_MIXED

from ...output.tables import ResultColumn, results_table, value
from ...sweeps import Row
from .planner import Planner, users_text

_MOST = 10**8
"""Maximum reports of a batch that a definition may require."""


@dataclass(frozen=True)
class RelayPlan:
    """A plan whose ``epsilons`` are those of a report in a complete batch, with ``delta``.

    Raises ParameterError if it has permanent draws, or an ε so large that a report may have it without a batch.
    """

    plan: Planner
    delta: float

    def __post_init__(self) -> None:
        if self.plan.permanent_epsilon is not None:
            raise ParameterError("--permanent-epsilon", "a permanent draw links reports, so mixing adds nothing")
        if max(self.plan.epsilons) >= MOST_MIXED:
            raise ParameterError("--epsilon", f"must be below {MOST_MIXED:g} with --relay; a report alone may have it")

    def rows(self) -> list[Row]:
        """Return a row for each ε of a batch.

        - ``local``, ``mechanism``: the ε of a report alone, which holds even if relay and collector collude;
        - ``least``: the least batch that reaches the aim and keeps ε, None if 10^8 reports do not suffice;
        - ``users_local``: the users that the aim needs without a relay, at that ε of a report;
        - ``epsilon_days``, ``delta_days``: the privacy loss of one report in each of ``days`` batches.
        """
        return [self._row(epsilon) for epsilon in self.plan.epsilons]

    def _row(self, epsilon: float) -> Row:
        least = self._least(epsilon)
        local, mechanism = self._at(epsilon, _MOST if least is None else least)
        after, delta = amplified(mechanism, least or _MOST, self.delta).after(self.plan.days)
        return {
            "asked": epsilon,
            "delta": self.delta,
            "local": local,
            "mechanism": mechanism.name,
            "report_bytes": mechanism.row_bytes,
            "least": least,
            "users_local": self.plan.needed(self.plan.mechanisms(epsilon)[0]),
            "days": self.plan.days,
            "epsilon_days": after,
            "delta_days": delta,
        }

    def _at(self, epsilon: float, least: int) -> tuple[float, Mechanism]:
        """Return the largest ε of a report for batches of ``least`` reports, and its mechanism."""
        return local_epsilon(lambda local: self.plan.mechanisms(local)[0], epsilon, least, self.delta)

    def _least(self, epsilon: float) -> int | None:
        """Return the least batch that reaches the aim, by bisection: larger batches never allow only a smaller ε."""

        def reached(reports: int) -> bool:
            mechanism = self._at(epsilon, reports)[1]
            return bool(self.plan.margin(mechanism, np.array([reports]))[0] <= self.plan.aim)

        low, high = 1, 2
        while not reached(high):
            low, high = high, 4 * high
            if high > _MOST:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def explain(self, rows: Sequence[Row]) -> str:
        """Return the aim, a table of the rows, the lines of a definition, and the conditions, for a terminal."""
        return "\n".join(
            (
                f"wanted: {self.plan.wanted}; ε of a report in a batch, with δ = {self.delta:g}",
                "",
                results_table(self._columns(), rows),
                "",
                *(line for row in rows for line in self._advice(row)),
                "ε of a batch is true only if",
                *(f"- {condition};" for condition in CONDITIONS[:-1]),
                "- a device has one report in each batch, as a pool has reports of one period.",
                "If relay and collector work together, a report costs the ε of a report.",
            )
        )

    def _columns(self) -> list[ResultColumn]:
        return [
            value("asked", "ε of a batch", "g"),
            value("local", "ε of a report", "g"),
            value("mechanism", "mechanism"),
            ResultColumn("people", lambda row: "-" if row["least"] is None else format(row["least"], ",")),
            value("users_local", "without a relay", ","),
            ResultColumn(
                f"ε of {counted(self.plan.days, 'batch', 'batches')}", lambda row: rounded_up(row["epsilon_days"], 4)
            ),
        ]

    def _advice(self, row: Row) -> list[str]:
        least, asked = row["least"], f"{row['asked']:g}"
        if least is None:
            return [f"At ε = {asked} even {_MOST:,} reports of a batch are not enough."]
        delta = "" if self.delta == 1e-6 else f", delta = {self.delta:g}"
        return [
            f"  epsilon = {row['local']:g}",
            f"  mixed = {{epsilon = {asked}, least = {least}{delta}}}",
            *self._waiting(least),
        ]

    def _waiting(self, least: int) -> list[str]:
        """Return the time until a batch is complete, if the number of people who report in each period is known."""
        users = self.plan.users
        if users is None:
            return []
        if users >= least:
            return [f"  {users_text(users)} in each period fill a batch each period."]
        periods = counted(-(-least // users), "period")
        return [
            f"  {users_text(users)} in each period never fill a batch, because it has reports of one period. Ask in",
            f'  longer periods, or once (period = "once": full after {periods} of different people).',
        ]
