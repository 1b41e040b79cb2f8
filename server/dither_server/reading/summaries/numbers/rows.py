"""Rows of a number's answer, for tables of other programs and for the database."""

from typing import Any, TypedDict

from ....analysis.columns import Table

__all__ = ["NumberRow", "daily_row", "flat"]


class NumberRow(TypedDict):
    """One estimate: a ``statistic`` in the metric's unit, or the share of people below a point.

    ``at`` is the share of which a quantile is meant, or the point below which a share lies; None of a mean.
    """

    statistic: str
    at: float | None
    estimate: float | None
    noise_error: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    consistent: float | None
    verdict: str | None
    unit: str


def flat(table: Table) -> Table:
    """Return a row for the mean, one for each quantile and one for each share."""
    mean = table.about["mean"]
    unit = table.about["unit"]
    rows = [_row("mean", None, mean["value"], unit, **{name: mean[name] for name in (*_ENDS, *_ERRORS, "verdict")})]
    rows += [
        _row("quantile", one["share"], one["value"], unit, **{name: one[name] for name in (*_ENDS, "verdict")})
        for one in table.about["quantiles"]
    ]
    rows += [
        _row("share", one["at"], one["share"], "", **{name: one[name] for name in (*_ENDS, *_ERRORS, "consistent")})
        for one in table.rows()
    ]
    return Table(table.about, {name: [row[name] for row in rows] for name in NumberRow.__annotations__})


def daily_row(table: Table) -> dict[str, float | None]:
    """Return what is kept of a day: the mean, the median and the 95th percentile, with their intervals."""
    mean = table.about["mean"]
    row: dict[str, float | None] = {"mean": mean["value"], "mean_error": mean["standard_error"]}
    row |= {f"mean_{end}": mean[end] for end in _ENDS}
    quantiles = {one["share"]: one for one in table.about["quantiles"]}
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        row[name] = quantiles[share]["value"]
        row |= {f"{name}_{end}": quantiles[share][end] for end in _ENDS}
    return row


_ENDS = ("low", "high")
_ERRORS = ("noise_error", "standard_error")


def _row(statistic: str, at: float | None, estimate: float | None, unit: str, **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(NumberRow.__annotations__)
    return row | {"statistic": statistic, "at": at, "estimate": estimate, "unit": unit} | more
