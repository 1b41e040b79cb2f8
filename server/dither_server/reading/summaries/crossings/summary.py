"""Crossings of two questions: shares of pairs, their marginals, and the shares of one question within the other."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from dither_shared import CrossQuestion, Metric

from ....analysis.columns import Table
from ....estimation.crossing import crossed
from ....estimation.decoders.support import decoder_of
from ....protocol.json_schema import Schema
from ...query import EstimateQuery, Query
from ..shares.summary import Shares
from ..summary import Estimator, Survey, TextTable
from ..window import Look
from .marginals import marginals, within
from .page import CrossingsExhibit
from .rows import CrossRow, flat
from .schema import CROSSING
from .text import estimate_text

__all__ = ["Crossings"]


class Crossings(Shares):
    """Shares of the pairs as of any listed answers, and beside them what is read of both questions together."""

    row: ClassVar[type] = CrossRow
    schema: ClassVar[Schema] = CROSSING
    cheaper: ClassVar[str] = "cross questions with fewer answers"

    def effort(self, metric: Metric) -> int:
        """Return what the cells cost and, for each answer to a question, its decoder's work on the pairs with it."""
        question, mechanism = cast("CrossQuestion", metric.question), metric.mechanism
        together = decoder_of(mechanism).cost_together(mechanism, question.size, sum(question.shape))
        return super().effort(metric) + together + question.size // 4

    def beside(self, metric: Metric) -> int:
        """Count the answers to both questions, and the share of each pair within either answer."""
        question = cast("CrossQuestion", metric.question)
        return sum(question.shape) + 2 * question.size

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return the shares of the pairs, with ``marginals`` and ``conditional`` shares beside them."""
        cells = super().table(survey, query, estimator, candidates)
        metric, question = survey.metric, cast("CrossQuestion", survey.metric.question)
        together = isinstance(query, Query) and query.simultaneous
        found = crossed(metric.mechanism, survey.tally, question.shape, query.confidence, simultaneous=together)
        more = {"marginals": marginals(metric, cells, found, survey.days), "conditional": within(question, found)}
        return Table({**cells.about, **more}, cells.columns)

    def flat(self, table: Table) -> Table:
        """Return a row for each pair, each answer to either question, and each share within an answer."""
        return flat(table)

    def exhibit(self, survey: Survey, query: Query, estimator: Estimator, look: Look) -> CrossingsExhibit:
        """Return the crossing as a grid."""
        return CrossingsExhibit.of(survey.metric, self.table(survey, query, estimator), look)

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a pair, then a row an answer to each question, then those within each other."""
        return estimate_text(told)
