"""Strata of reports: find the stratum of each, and report mistakes in the attributes to the app's developer.

A value that is not listed may be right, on a rare platform. So it is counted per attribute, and logged once if the app
has set up logging. An attribute that is missing, or that no metric declares, is a mistake in the app.
"""

from __future__ import annotations

from dither_shared.errors import ParameterError, did_you_mean
from dither_shared.plain import text_of
from dither_shared.wire import OTHER

from ..settings import NONE_GIVEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dither_shared.metrics.metric import Metric
    from dither_shared.metrics.strata import Strata

    from ..diagnostics import Diagnostics


class Stratifier:
    """Finds the stratum of each report by the attributes given with the answer, or else once to the client (``own``).

    Raises ParameterError for one in ``own`` that none of ``metrics`` has, if ``strict``.
    """

    def __init__(
        self,
        own: Mapping[str, object],
        metrics: Iterable[Metric],
        diagnostics: Diagnostics,
        *,
        strict: bool,
    ) -> None:
        self._diagnostics = diagnostics
        self._strict = strict
        self.unlisted: dict[str, int] = {}
        """Number of reports in "other" because their value is not listed, by attribute."""
        self.own: dict[str, object] = {}
        self.use(own, metrics)

    def use(self, own: Mapping[str, object], metrics: Iterable[Metric]) -> None:
        """Set the attributes of all reports of ``metrics``."""
        if own:
            known = sorted({name for metric in metrics if metric.strata for name in metric.strata.names})
            self._check("strata", own, known)
        self.own = dict(own)

    def check(self, metric: Metric, given: Mapping[str, object]) -> None:
        """Log attributes that ``metric`` does not have, which are ignored; raise ParameterError if ``strict``."""
        self._check(f"metrics.{metric.name}.strata", given, metric.strata.names if metric.strata else ())

    def label(self, metric: Metric, given: Mapping[str, object] = NONE_GIVEN) -> str | None:
        """Return the stratum of a report; None if the metric has none."""
        return None if metric.strata is None else metric.strata.label_of({**self.own, **given})

    def of(self, metric: Metric, given: Mapping[str, object]) -> str | None:
        """Return the stratum of a report, and log each attribute whose value is not listed."""
        if metric.strata is None:
            return None
        given = {**self.own, **given}
        for name in metric.strata.outside(given):
            self._unlisted(metric.name, metric.strata, name, given)
        return metric.strata.label_of(given)

    def _check(self, place: str, given: Mapping[str, object], known: Iterable[str]) -> None:
        for name in given:
            if name not in known:
                self._undeclared(place, name, known)

    def _undeclared(self, place: str, name: str, known: Iterable[str]) -> None:
        """Log an attribute; search once for the name that may have been meant, because that takes long."""
        kind = f"unknown attribute in {place}"
        meant = did_you_mean(name, known) if self._strict or kind not in self._diagnostics.counts else ""
        who = "no metric of this client declares it" if place == "strata" else "the metric does not declare it"
        mistake = who + (meant or f"; declared here: {', '.join(known) or 'nothing'}")
        if self._strict:
            raise ParameterError(f"{place}.{name[:64]}", mistake)
        self._diagnostics.note(kind, f"{name[:64]}: {mistake}")

    def _unlisted(self, metric: str, strata: Strata, name: str, given: Mapping[str, object]) -> None:
        place, text = f"metrics.{metric}.strata.{name}", text_of(given.get(name))
        count = self.unlisted[place] = self.unlisted.get(place, 0) + 1
        goes = f'its reports go to "{OTHER}"'
        if text is None:
            self._diagnostics.note(f"{place} is not given", f"{goes}; give record() {name}=…, or the client strata=…")
        elif count == 1:
            values = dict(strata.attributes)[name]
            self._diagnostics.warn(
                f"{place}: a value that is not one of {', '.join(values)}{did_you_mean(text, values)}; {goes}"
            )
