"""Read a collector's answers from a notebook or a program, over HTTP.

    from dither_server.answers import connect

    answers = connect("https://answers.example.org", token=token)
    theme = answers["theme"].estimate(since="2026-11-01")
    theme["dark"].low, theme["dark"].high
    theme.plot()

It needs the standard library alone, but for ``to_pandas``, ``to_arrow`` and ``plot``, which import pandas, pyarrow and
matplotlib when they are called. An answer holds at most 64 MiB and takes at most ``timeout`` seconds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape
from typing import Any, Self
from urllib.parse import quote, urlencode

from dither_serving.collector_url import CollectorUrl, NoAnswerError
from dither_shared import VERSION, DitherError, ParameterError
from dither_shared.counted import counted

_LARGEST = 1 << 26
"""Maximum bytes of an answer."""

_SHOWN = 200
"""Maximum characters of a server's message that are quoted in an error."""


class AnswersError(DitherError):
    """A collector gave no answer, or refused it; the message says why."""


def connect(url: str, *, token: str | None = None, timeout: float = 60.0) -> "RemoteMetrics":
    """Return the metrics of the collector at ``url``, read with a token of the role ``read`` if it asks for one.

    Nothing is sent yet. Raises ParameterError if the URL or the token is malformed, or if the token would travel
    unencrypted to another machine.
    """
    place = CollectorUrl.parse("url", url)
    if token is not None and not (token.isascii() and token.isprintable() and token):
        raise ParameterError("token", "not a token: it has characters that no token contains")
    if token is not None and place.is_exposed:
        raise ParameterError("url", "not encrypted: anybody on the way could read the token; use https")
    if not 0 < timeout < float("inf"):
        raise ParameterError("timeout", f"{timeout!r} is not a number of seconds")
    return RemoteMetrics(place, token, timeout)


@dataclass(frozen=True)
class RemoteMetrics(Mapping[str, "RemoteMetric"]):
    """The metrics of a collector by name. Each access asks the collector, over a connection of its own."""

    url: CollectorUrl
    token: str | None = field(repr=False)
    timeout: float

    def __getitem__(self, name: str) -> "RemoteMetric":
        """Return a metric. Raises KeyError if the collector does not ask it, and AnswersError."""
        try:
            return RemoteMetric(self, name, self.ask("v1", "metrics", name))
        except AnswersError as error:
            if "answered 404" in str(error):
                raise KeyError(name) from None
            raise

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the metrics."""
        return (str(metric["metric"]) for metric in self._listed())

    def __len__(self) -> int:
        """Return how many metrics there are."""
        return len(self._listed())

    def _listed(self) -> list[Mapping[str, Any]]:
        listed: list[Mapping[str, Any]] = self.ask("v1", "metrics")["metrics"]
        return listed

    def ask(self, *path: str, **parameters: object) -> Any:
        """Return the collector's answer at a path as JSON. Raises AnswersError."""
        fields = {"User-Agent": f"dither-answers/{VERSION}"}
        if self.token is not None:
            fields["Authorization"] = f"Bearer {self.token}"
        place = "".join(f"/{quote(part, safe='')}" for part in path)
        query = urlencode([pair for name, value in parameters.items() for pair in _pairs(name, value)])
        try:
            answer = self.url.ask(f"{place}?{query}" if query else place, fields, self.timeout, _LARGEST)
        except NoAnswerError as error:
            raise AnswersError(f"the collector {error}") from None
        try:
            content = json.loads(answer.body)
        except (ValueError, RecursionError):
            raise AnswersError(f"{place}: answered {answer.status}, and no JSON: is this a collector?") from None
        if answer.status != 200:
            detail = content.get("detail") if isinstance(content, dict) else None
            raise AnswersError(f"{place}: answered {answer.status}: {str(detail)[:_SHOWN]}")
        return content


def _pairs(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the query parameters of the URL for one keyword argument."""
    if value is None:
        return
    if name == "strata" and isinstance(value, Mapping):
        yield from ((str(key), str(one)) for key, one in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((name, str(one)) for one in value)
    else:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class RemoteMetric:
    """A metric; ``about`` is what the collector says of it, such as its values, mechanism and versions."""

    collector: RemoteMetrics = field(repr=False)
    name: str
    about: Mapping[str, Any] = field(repr=False)

    @property
    def description(self) -> str:
        """The question, in words."""
        return str(self.about["description"] or self.name)

    @property
    def versions(self) -> Sequence[str]:
        """Every version that was collected. Never sum two of them."""
        return list(self.about["versions"])

    def estimate(self, **parameters: object) -> "RemoteEstimate":
        """Return the estimate of all requested days together.

        The arguments are the parameters of the API: ``since`` and ``until`` (dates or text), ``confidence``,
        ``version``, ``simultaneous``, ``weighted``, ``quantile``, ``at``, ``values``, ``top``, and
        ``strata={"platform": "linux"}``.
        Raises AnswersError, with the collector's reason if it refuses.
        """
        return RemoteEstimate.of(self._ask("estimate", parameters))

    def estimates(self, **parameters: object) -> "list[RemoteEstimate]":
        """Return an estimate for each day (``by_day=True``), or each stratum (``by="platform"``) and all together."""
        answer = self._ask("estimate", parameters)
        return [RemoteEstimate.of(one) for one in (answer if isinstance(answer, list) else [answer])]

    def trend(self, **parameters: object) -> "RemoteTrend":
        """Return the trend of the metric over days, or weeks (``step="week"``)."""
        answer = self._ask("trend", parameters)
        steps = answer["steps"]
        records = [
            {"value": row["value"], "since": step["since"], "until": step["until"], "reports": step["reports"], **point}
            for row in answer["values"]
            for step, point in zip(steps, row["points"], strict=True)
        ]
        return RemoteTrend(answer, records)

    def compare(self, **parameters: object) -> "RemoteTable":
        """Return the comparison of two sides: by default of the last week with the one before."""
        answer = self._ask("compare", parameters)
        return RemoteTable(answer, answer["values"])

    def _ask(self, what: str, parameters: Mapping[str, object]) -> Any:
        if parameters.get("format") is not None:
            raise ParameterError("format", "does not apply; use to_pandas() or to_arrow()")
        return self.collector.ask("v1", "metrics", self.name, what, **parameters)


@dataclass(frozen=True)
class RemoteTable:
    """A table: ``about`` is the complete answer as JSON, and ``records`` are its rows, which all have the same keys."""

    about: Mapping[str, Any] = field(repr=False)
    records: Sequence[Mapping[str, Any]]

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``; days are timestamps."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - only if called

        frame = pandas.DataFrame.from_records(list(self.records))
        days = {name: pandas.to_datetime(frame[name]) for name in ("since", "until") if name in frame}
        return frame.assign(**days)

    def to_arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``; days are dates, and a column of nulls has the type float."""
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - only if called

        table = pyarrow.Table.from_pylist([dict(row) for row in self.records])
        kinds = {one.name: pyarrow.float64() for one in table.schema if pyarrow.types.is_null(one.type)}
        texts = {name: pyarrow.date32() for name in ("since", "until") if name in table.column_names}
        return table.cast(
            pyarrow.schema([one.with_type((kinds | texts).get(one.name, one.type)) for one in table.schema])
        )

    def _repr_html_(self) -> str:
        """Return the rows as a notebook shows them."""
        names = list(dict.fromkeys(name for row in self.records for name in row))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = ("".join(f"<td>{escape(_written(row.get(name)))}</td>" for name in names) for row in self.records)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@dataclass(frozen=True)
class Figure:
    """One statistic with its interval: a share of people, a mean or a quantile. What is not known is None."""

    name: str
    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    verdict: str
    weighted: float | None = None
    weighted_low: float | None = None
    weighted_high: float | None = None

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any]) -> Self:
        """Return the figure of a row of the API."""
        estimate = row["frequency"] if "frequency" in row else row["value"]
        known = {key: row.get(key) for key in ("weighted", "weighted_low", "weighted_high")}
        return cls(name, estimate, row.get("standard_error"), row["low"], row["high"], row["verdict"], **known)


@dataclass(frozen=True)
class RemoteEstimate(RemoteTable):
    """What people answered: ``figures`` are shares of values, or a mean and quantiles such as ``p50``.

    ``records`` have all columns: of values, or of the mean, quantiles and shares below points, as an export has.
    """

    figures: Mapping[str, Figure] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return the estimate of an answer."""
        if "mean" in answer:
            mean, unit = answer["mean"], answer["unit"]
            rows = [("mean", "mean", None, mean), *_quantiles(answer)]
            figures = {name: Figure.of(name, row) for name, _, _, row in rows}
            records = [_record(kind, at, row["value"], unit, row) for _, kind, at, row in rows]
            records += [_record("share", row["at"], row["share"], "", row) for row in answer["cdf"]]
            return cls(answer, records, figures)
        rows_of = answer.get("values", answer.get("cells", ()))
        named = {str(row["value"]): row for row in rows_of if "value" in row}
        return cls(answer, list(rows_of), {name: Figure.of(name, row) for name, row in named.items()})

    def __getitem__(self, name: str) -> Figure:
        """Return the figure of a value, of ``mean``, or of a quantile such as ``p50``. Raises KeyError."""
        return self.figures[name]

    @property
    def reports(self) -> int:
        """The number of reports."""
        return int(self.about["reports"])

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The first and the last day."""
        first, last = (self.about[name] for name in ("since", "until"))
        return first and date.fromisoformat(first), last and date.fromisoformat(last)

    def plot(self, axes: Any = None) -> Any:
        """Draw each figure with its interval, and next to it the weighted one; return the axes of matplotlib."""
        axes = _axes(axes)
        known = [one for one in self.figures.values() if one.estimate is not None]
        places = range(len(known))
        scale = 1 if "mean" in self.about else 100
        _bars(axes, places, [(one.estimate, one.low, one.high) for one in known], scale, "as reported")
        if any(one.weighted is not None for one in known):
            shifted = [place + 0.25 for place in places]
            weighted = [(one.weighted, one.weighted_low, one.weighted_high) for one in known]
            _bars(axes, shifted, weighted, scale, "weighted to the population")
            _legend(axes)
        axes.set_yticks(list(places), [one.name for one in known])
        axes.invert_yaxis()
        axes.set_xlabel(self.about["unit"] if scale == 1 else "% of people")
        axes.set_title(f"{self.about['metric']}: {counted(self.reports, 'report')}")
        return axes


@dataclass(frozen=True)
class RemoteTrend(RemoteTable):
    """A metric over time: a row for each value and step."""

    def plot(self, axes: Any = None) -> Any:
        """Draw a line with its band of intervals for each value; return the axes of matplotlib."""
        axes = _axes(axes)
        for value in dict.fromkeys(row["value"] for row in self.records):
            rows = [row for row in self.records if row["value"] == value and row["frequency"] is not None]
            days = [date.fromisoformat(row["since"]) for row in rows]
            (line,) = axes.plot(days, [row["frequency"] for row in rows], label=value)
            ends = [[row[end] for row in rows] for end in ("low", "high")]
            axes.fill_between(days, *ends, color=line.get_color(), alpha=0.2)
        _legend(axes)
        axes.set_title(str(self.about["metric"]))
        axes.figure.autofmt_xdate()
        return axes


def _quantiles(answer: Mapping[str, Any]) -> Iterator[tuple[str, str, float, Mapping[str, Any]]]:
    for row in answer["quantiles"]:
        yield f"p{100 * row['share']:g}", "quantile", row["share"], row


def _record(kind: str, at: float | None, estimate: float | None, unit: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a number as an export has it."""
    names = ("standard_error", "low", "high", "consistent", "verdict")
    weighted = [name for name in row if name.startswith("weighted")]
    known = {name: row.get(name) for name in (*names, *weighted)}
    return {"statistic": kind, "at": at, "estimate": estimate, "unit": unit} | known


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    from matplotlib import pyplot  # noqa: PLC0415 - only if called

    return pyplot.subplots()[1]


def _legend(axes: Any) -> None:
    """Explain the colours to the right of the drawing, where the legend covers nothing."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _bars(axes: Any, places: Sequence[float], figures: Sequence[tuple[Any, Any, Any]], scale: int, label: str) -> None:
    """Draw intervals as lines and estimates as dots: a raw estimate may lie outside of its interval."""
    known = [(place, one) for place, one in zip(places, figures, strict=True) if None not in one]
    where = [place for place, _ in known]
    (dots,) = axes.plot([scale * one[0] for _, one in known], where, "o", label=label)
    axes.hlines(where, *([scale * one[end] for _, one in known] for end in (1, 2)), color=dots.get_color())


def _written(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
