"""Sets of values: shares as of one among several, the average number of values, and pairs."""

from collections.abc import Mapping
from typing import Any, ClassVar

from dither_shared import Metric

from ....analysis.columns import Table
from ....estimation.sets import SetEstimate, estimate_sets
from ....protocol.json_schema import Schema
from ....tally.tally import Tally
from ...query import EstimateQuery, Query
from ..shares.summary import Shares
from ..summary import Estimator, Survey, TextTable
from ..window import Look
from .page import SelectionExhibit
from .rows import SelectionRow, SelectionTable, flat, selected
from .schema import ESTIMATE
from .text import selection_text

__all__ = ["Selections"]


class Selections(Shares):
    """The share of people who have each value, how many they have on average, and which pairs go together."""

    row: ClassVar[type] = SelectionRow
    schema: ClassVar[Schema] = ESTIMATE
    cheaper: ClassVar[str] = "ask for fewer days"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> SetEstimate:
        """Return the shares of ``labels``, their sum, and pairs."""
        most = metric.question.promises.get("at_most")
        return estimate_sets(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous, at_most=most)

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None = None
    ) -> SelectionTable:
        """Return the shares with the pairs beside them."""
        found: list[SetEstimate] = []

        def remembered(*asked: Any) -> SetEstimate:
            found.append(estimator(*asked))
            return found[-1]

        shares = super().table(survey, query, remembered, candidates)
        return selected(shares, found[-1])

    def flat(self, table: Table) -> Table:
        """Return a row for each value and for each pair."""
        return flat(table)

    def exhibit(self, survey: Survey, query: Query, estimator: Estimator, look: Look) -> SelectionExhibit:
        """Return the values that are looked at, and their pairs."""
        return SelectionExhibit.of(survey.metric, self.table(survey, query, estimator), look)

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value, and a row a pair."""
        return selection_text(told)
