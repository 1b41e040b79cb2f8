"""The arguments of a page: the days, a text to find, the page of the results, and a tier of metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, get_args

from werkzeug.datastructures import MultiDict

from dither_shared import Metric, ParameterError
from dither_shared.metrics.metric import Tier

from ..reading.parameters import COUNT, TEXT, Parameter, Parameters, count_of, one_of, refuse_unknown
from ..reading.query import Query

MANY = 30
"""The number of metrics above which they are grouped by tier."""

NO_TIER = "none"
"""The group of metrics whose definition names no tier."""

TIERS: tuple[str, ...] = (*get_args(Tier), NO_TIER)

_MOST = 500
"""Maximum rows or metrics of a page."""


def _few(text: str, place: str) -> int:
    number = count_of(text, place)
    if number > _MOST:
        raise ParameterError(place, f"above {_MOST}; go on with page=2")
    return number


_OWN = {
    "find": TEXT("Show only what contains this text."),
    "page": COUNT("Show this page."),
    "limit": Parameter(
        _few, {"type": "integer", "minimum": 1, "maximum": _MOST}, "Show at most this many rows or metrics on a page."
    ),
}
"""The parameters of a page in addition to those of an estimate."""

_TIER = {"tier": one_of(TIERS)("Show only metrics of this tier.")}
"""The parameter of a page of many metrics."""


@dataclass(frozen=True)
class View(Parameters):
    """A page's own arguments, in addition to those of an estimate."""

    QUERIED: ClassVar[tuple[str, ...]] = ("since", "until", "confidence", "simultaneous", "forged")
    OWN: ClassVar[Mapping[str, Parameter]] = _OWN | _TIER

    query: Query
    find: str = ""
    page: int = 1
    limit: int | None = None
    tier: str = ""

    def __post_init__(self) -> None:
        if self.tier and self.tier not in TIERS:
            raise ParameterError("tier", f"not one of {', '.join(TIERS)}")

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters by name: an estimate's without those that choose values, and a page's own."""
        return {name: Query.parameters()[name] for name in cls.QUERIED} | dict(cls.OWN)

    @classmethod
    def read(cls, arguments: MultiDict[str, str]) -> Self:
        """Read a URL's arguments. An empty one counts as not given, as a form leaves it. Raises ParameterError."""
        rest = MultiDict((name, value) for name, value in arguments.items(multi=True) if value)
        given = {name: one for name, one in cls.OWN.items() if name in rest}
        own: dict[str, Any] = {name: one.value(rest.poplist(name), name) for name, one in given.items()}
        query = Query.read(rest)
        if query.strata and "strata" not in cls.QUERIED:
            refuse_unknown(query.strata[0][0], cls.names())
        if not query.shows_all:
            raise ParameterError("values", "pages do not take values, top or offset; use find=TEXT and page=2")
        for name in ("quantile", "at", "by", "format"):
            if getattr(query, name):
                raise ParameterError(name, "does not apply to pages; use the API")
        if query.weighted and "weighted" not in cls.QUERIED:
            raise ParameterError("weighted", "does not apply to this page; use the page of a metric")
        return cls(query, **own)

    def arguments(self, **changed: object) -> dict[str, object]:
        """Return the arguments of a link to this view, or to one that differs in what is ``changed``."""
        page = self.page if self.page > 1 else None
        given: dict[str, object] = {"find": self.find, "page": page, "limit": self.limit, "tier": self.tier}
        for one in fields(self.query):
            value = getattr(self.query, one.name)
            if value != one.default and one.name != "strata":
                given[one.name] = str(value).lower()  # true, as in JSON
        given |= dict(self.query.strata)
        return {name: value for name, value in (given | changed).items() if value}

    def without_strata(self) -> dict[str, object]:
        """Return the arguments of a link to this view of all strata."""
        return self.arguments(page=None, **dict.fromkeys(dict(self.query.strata)))


class MetricView(View):
    """The arguments of a metric's page, which shows any version."""

    QUERIED = (*View.QUERIED, "weighted", "version", "strata")
    OWN = _OWN


class DaysView(View):
    """The arguments of a page about devices: its days."""

    QUERIED = ("since", "until", "confidence")
    OWN: ClassVar[Mapping[str, Parameter]] = {}


def tier_of(metric: Metric) -> str:
    """Return the group that a metric is in."""
    return metric.tier or NO_TIER


def by_tier(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """Return the groups that have metrics, in the order of ``TIERS``, each in the order of the definitions."""
    groups: dict[str, list[Metric]] = {tier: [] for tier in TIERS}
    for metric in metrics:
        groups[tier_of(metric)].append(metric)
    return {tier: group for tier, group in groups.items() if group}
