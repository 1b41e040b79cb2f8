"""Advice on strata: what is sent in the clear should be no secret, of few values, and named alike everywhere."""

import re
from collections.abc import Iterable, Iterator

from dither_shared.errors import did_you_mean
from dither_shared.metrics.metric import Metric

__all__ = ["strata_advice"]

_MOST_CELLS = 8
_SECRET = re.compile(
    "account|address|age|birth|birthday|city|country|device|email|gender|health|host|hostname|id|income|ip|language|locale|"
    "location|login|mail|person|phone|race|region|religion|serial|sex|user|username|uuid|zip"
)
"""Words in the names of attributes that say something of a person, or tell one device from others."""


def strata_advice(metric: Metric, metrics: Iterable[Metric]) -> Iterator[str]:
    """Yield one sentence for each thing to mend in the strata of a metric; ``metrics`` are all of its file."""
    strata = metric.strata
    if strata is None:
        return
    if len(strata) > _MOST_CELLS:
        yield (
            f"strata: {len(strata)} cells, and each needs as many reports as the metric would; a report hides "
            f"among those of its own cell only, so list fewer values: at most {_MOST_CELLS} cells"
        )
    others = [(one.name, dict(one.strata.attributes)) for one in metrics if one.strata and one.name != metric.name]
    known = {name for _, attributes in others for name in attributes}
    for name, values in strata.attributes:
        if any(map(_SECRET.fullmatch, name.split("_"))):
            yield f"strata.{name}: sent in the clear, not changed at random; what is a secret is a question of its own"
        if name not in known and (meant := did_you_mean(name, known)):
            yield f"strata.{name}: another metric has one of nearly this name{meant}"
        for other, attributes in others:
            if set(attributes.get(name, values)) != set(values):
                yield f'strata.{name}: metrics.{other} lists other values; what either does not list goes to "other"'
