"""Weights of the strata of an answer, read in the snapshot of its tally."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import first_day

from ..analysis.population import KnownPopulation, indicators
from ..analysis.weighted import Weighting
from ..store import Snapshot
from ..tally.arrays import Floats
from ..tally.repeats import Repeats
from .sources import Answered, Source
from .summaries import summary_of

_NONE = 'no population is known; name a file of its margins by the setting population, such as "population.toml"'


def require_weights(population: KnownPopulation | None, metric: Metric, sources: Sequence[Source]) -> None:
    """Raise ParameterError if the sources, of which the last holds all others, have no weights."""
    for source in sources:
        if source.answered is not None:
            if not summary_of(metric).weighable:
                raise ParameterError("weighted", f"does not apply to {metric.name}, whose estimates are no sums")
            _, shares = _shares(population, metric, source.answered)
            if source is sources[-1] and not shares[list(source.part.places or ())].any():
                raise ParameterError("weighted", "nobody of the population is in these strata")


def can_weigh(population: KnownPopulation | None, metric: Metric) -> bool:
    """Return whether weights can be asked for, if there are enough reports."""
    return population is not None and summary_of(metric).weighable and bool(population.of(metric))


def weighting_of(population: KnownPopulation | None, source: Source, snapshot: Snapshot) -> Weighting | None:
    """Return the strata of a source with their weights and tallies; None if none are asked for, or nobody is there.

    Raises ParameterError as ``KnownPopulation.shares`` does.
    """
    metric, strata = source.metric, source.metric.strata
    if source.answered is None or strata is None or population is None:
        return None
    reports, shares = _shares(population, metric, source.answered)
    places = np.array([place for place in source.part.places or () if shares[place] > 0], dtype=np.intp)
    if not len(places):
        return None
    repeats = Repeats.of(metric, source.slice.reports)
    weighting = Weighting(
        shares=shares,
        design=indicators(population, metric),
        places=places,
        tallies=tuple(snapshot.tally(metric, *source.span, (place,)) for place in places.tolist()),
        reports=reports,
        periods=_by_period(metric, source.answered, len(strata))[:, places],
        chance=0.0 if source.distinct or not repeats.periods else repeats.chance,
        about={},
    )
    return replace(weighting, about=_about(population, source, weighting))


def _shares(population: KnownPopulation | None, metric: Metric, answered: Answered) -> tuple[Floats, Floats]:
    """Return the reports and the share of people of each cell."""
    if population is None:
        raise ParameterError("weighted", _NONE)
    reports = _by_period(metric, answered, 1 if metric.strata is None else len(metric.strata)).sum(axis=0)
    return reports.astype(np.float64), population.shares(metric, reports.astype(np.float64))


def _by_period(metric: Metric, answered: Answered, cells: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Return the reports of each period and cell."""
    periods: defaultdict[int, np.ndarray[tuple[int], np.dtype[np.int64]]] = defaultdict(
        lambda: np.zeros(cells, dtype=np.int64)
    )
    for day, places in answered:
        period = first_day(day.toordinal(), metric.period) if metric.period != "once" else 0
        for place, number in places:
            periods[period][place] += number
    return np.array(list(periods.values())).reshape(-1, cells)


def _about(population: KnownPopulation, source: Source, weighting: Weighting) -> dict[str, object]:
    """Return the fields of an answer that say how its reports are weighted."""
    strata = source.metric.strata
    names, cells = ((), ()) if strata is None else (strata.names, strata.cells)
    used = {name for margin in population.of(source.metric) for name in margin.attributes}
    rows = zip(weighting.places.tolist(), weighting.within.tolist(), weighting.weights.tolist(), strict=True)
    return {
        "population": population.source,
        "attributes": [name for name in names if name in used],
        "design_effect": weighting.effect,
        "effective_reports": weighting.effective,
        "repeats": weighting.repeats,
        "largest": float(weighting.weights.max()),
        "most_weight": population.most_weight,
        "left_out": source.slice.total - int(weighting.reports[weighting.places].sum()),
        "strata": [
            {
                "stratum": dict(zip(names, cells[place], strict=True)),
                "reports": int(weighting.reports[place]),
                "population": share,
                "weight": weight,
            }
            for place, share, weight in rows
        ],
    }
