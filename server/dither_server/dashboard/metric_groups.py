"""Groups of metrics by their tier, so that a page of many has an order."""

from collections.abc import Iterable
from typing import get_args

from dither_shared import Metric
from dither_shared.metrics.metric import Tier

MANY = 30
"""The number of metrics above which they are shown in groups."""

NO_TIER = "none"
"""The group of metrics whose definition names no tier."""

TIERS: tuple[str, ...] = (*get_args(Tier), NO_TIER)


def tier_of(metric: Metric) -> str:
    """Return the group that a metric is in."""
    return metric.tier or NO_TIER


def by_tier(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """Return the groups that have metrics, in the order of ``TIERS``, each in the order of the definitions."""
    groups: dict[str, list[Metric]] = {tier: [] for tier in TIERS}
    for metric in metrics:
        groups[tier_of(metric)].append(metric)
    return {tier: group for tier, group in groups.items() if group}
