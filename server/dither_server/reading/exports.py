"""Write answers for other programs: as JSON, or as a table with the same columns in every format.

The summary of a kind of question lists the columns of its rows. A table of several kinds has the columns of all of
them, and a cell is empty if a row has no such column. The estimates of each day can be rows of the database, too, for
programs that read SQL; ``refresh`` writes them again only if something changed.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from werkzeug.datastructures import MIMEAccept

from dither_serving.problems import Kind, Problem
from dither_shared import Metric

from ..analysis.columns import Column, Table
from ..store import Store
from .query import Query
from .summaries import summary_of
from .summaries.summary import CollectedReports


class _Exported(Protocol):
    """What the writers of formats need of a kind of answer, such as a ``Summary``: its columns, and its rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of its rows."""

    def flat(self, table: Table) -> Table:
        """Return an answer as a table with these columns."""


class Listed(NamedTuple):
    """A kind of answer that is not an estimate, such as retention: its table is flat already."""

    columns: Sequence[Column]

    def flat(self, table: Table) -> Table:
        """Return the table itself."""
        return table


Answered = tuple[_Exported, Table]
"""An answer, with the summary of its kind of question."""

_ABOUT = (
    *(Column(name, str) for name in ("metric", "version", "since", "until")),
    Column("reports", int),
    Column("confidence", float),
    Column("simultaneous", str, nullable=True),
)
"""The fields about an answer that each row repeats, so that tables can be appended to each other."""

_DAYS = frozenset({"since", "until"})

_SIGNS = "=+\\-@＝＋－＠"
_RISKY = re.compile(rf"^['\s\x00-\x1f]|(^|[;\t\r\n])[\s\x00-\x1f\"]*[{_SIGNS}]")
"""Labels that a spreadsheet may run as a formula, from their first character or after a separator.

Spreadsheets read full-width signs as plain ones, skip leading blanks and quotes, and in many countries split cells at
semicolons.
"""


@dataclass(frozen=True)
class _Format:
    """A format that writes answers piece by piece, so that only one of many is in memory.

    ``write`` takes the answers, their kinds, and the attributes of their strata. Each attribute has a column, which is
    empty for an answer about all of its values. ``package`` is a package that the format needs, and ``extra`` the extra
    of dither that installs it.
    """

    name: str
    media_type: str
    write: Callable[[Iterable[Answered], Sequence[_Exported], Sequence[str]], Iterator[bytes]]
    package: str | None = None
    extra: str | None = None

    @property
    def missing(self) -> str | None:
        """What must be installed before this format can be written, in words, or None."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.name} needs {self.package}, which is not installed: pip install 'dither[{self.extra}]'"


def answered(metric: Metric, tables: Iterable[Table]) -> Iterator[Answered]:
    """Yield the answers about one metric with their summary."""
    summary = summary_of(metric)
    return ((summary, table) for table in tables)


def attributes_of(metrics: Iterable[Metric]) -> list[str]:
    """Return the attributes of the strata of all metrics, each once."""
    return list(dict.fromkeys(name for metric in metrics if metric.strata for name in metric.strata.names))


def columns(kinds: Sequence[_Exported], attributes: Sequence[str] = ()) -> dict[str, Column]:
    """Return a table's columns by name: those about an answer, attributes of strata, then the rows of each kind."""
    of_strata = [Column(name, str, nullable=True) for name in attributes]
    return {column.name: column for column in (*_ABOUT, *of_strata, *(one for kind in kinds for one in kind.columns))}


def json_object(table: Table) -> Iterator[bytes]:
    """Yield an answer as the API's JSON object, a few rows at a time."""
    yield _dumped({**table.about})[:-1].encode()
    for key, listed in table.lists.items():
        before = f",{_dumped(key)}:["
        for rows in listed.chunks():
            yield f"{before}{_dumped(rows)[1:-1]}".encode()
            before = ","
        yield f"{'' if before == ',' else before}]".encode()
    yield b"}"


def escape_formula(label: str) -> str:
    """Return a label as CSV holds it: escaped if a spreadsheet could take it for a formula.

    Only escaped labels begin with an apostrophe. What follows is the inside of a JSON string, without any separator of
    cells. So ``unescape_formula`` restores the label.
    """
    if not _RISKY.search(label):
        return label
    return "'" + json.dumps(label, ensure_ascii=False)[1:-1].replace(";", "\\u003b")


def unescape_formula(written: str) -> str:
    """Return the label that ``escape_formula`` escaped."""
    return str(json.loads(f'"{written[1:]}"')) if written.startswith("'") else written


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _json(answers: Iterable[Answered], kinds: Sequence[_Exported], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield a list of the API's answers."""
    before = b"["
    for _, table in answers:
        yield before
        yield from json_object(table)
        before = b",\n"
    yield b"[]\n" if before == b"[" else b"]\n"


def _ndjson(answers: Iterable[Answered], kinds: Sequence[_Exported], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield one JSON object per line."""
    for summary, table in answers:
        before = _about(table) | {column.name: None for column in summary.columns}
        for rows in summary.flat(table).chunks():
            yield "".join(f"{_dumped(before | row)}\n" for row in rows).encode()


def _csv(answers: Iterable[Answered], kinds: Sequence[_Exported], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield CSV with a header line (RFC 4180). Undefined cells are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(columns(kinds, attributes)))
    writer.writeheader()
    yield text.getvalue().encode()
    for summary, table in answers:
        about = _about(table)
        for rows in summary.flat(table).chunks():
            text.seek(0)
            text.truncate()
            writer.writerows({name: _cell(cell) for name, cell in (about | row).items()} for row in rows)
            yield text.getvalue().encode()


def _cell(cell: Any) -> Any:
    """Return the text of a CSV cell: strings that no spreadsheet runs, and true and false as in JSON."""
    if isinstance(cell, str):
        return escape_formula(cell)
    return ("true" if cell else "false") if isinstance(cell, bool) else cell


def _arrow(answers: Iterable[Answered], kinds: Sequence[_Exported], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield an Arrow IPC stream. Days are dates, undefined numbers are null."""
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    listed = columns(kinds, attributes)

    def kind(name: str) -> Any:
        return types[listed[name].type]

    def array(column: str, values: Any) -> Any:
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            return pa.array(values, kind(column), mask=~np.isfinite(values))
        return pa.array(values, kind(column))

    schema = pa.schema([(name, pa.date32() if name in _DAYS else kind(name)) for name in listed])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as stream:
        for summary, table in answers:
            flat = summary.flat(table)
            arrays = {name: pa.repeat(pa.scalar(value, kind(name)), len(flat)) for name, value in _about(table).items()}
            arrays |= {name: array(name, column) for name, column in flat.columns.items()}
            whole = [
                arrays[field.name].cast(field.type) if field.name in arrays else pa.nulls(len(flat), field.type)
                for field in schema
            ]
            stream.write_batch(pa.record_batch(whole, schema=schema))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def _about(table: Table) -> dict[str, Any]:
    """Return the fields that each row of a table repeats."""
    return {**{column.name: table.about.get(column.name) for column in _ABOUT}, **table.about.get("stratum", {})}


FORMATS = {
    one.name: one
    for one in (
        _Format("json", "application/json", _json),
        _Format("csv", "text/csv", _csv),
        _Format("ndjson", "application/x-ndjson", _ndjson),
        _Format("arrow", "application/vnd.apache.arrow.stream", _arrow, package="pyarrow", extra="arrow"),
    )
}
"""Every format by its name, the preferred first."""


def chosen(name: str | None, accept: MIMEAccept) -> _Format:
    """Return the format with that name; if None, the one that ``accept`` prefers among the available ones.

    Raises Problem that says what would be needed if there is none.
    """
    if name is not None:
        if missing := FORMATS[name].missing:
            raise Problem(Kind.NOT_ACCEPTABLE, missing)
        return FORMATS[name]
    able = {one.media_type: one for one in FORMATS.values() if one.missing is None}
    preferred = accept.best_match(able) if accept else next(iter(able))
    if preferred is None:
        needed = [one.missing for one in FORMATS.values() if one.missing and accept.quality(one.media_type)]
        raise Problem(Kind.NOT_ACCEPTABLE, "; ".join(needed) or f"Accept names none of {', '.join(able)}")
    return able[preferred]


def refresh(store: Store, metric: Metric, everything: bool = False) -> Iterator[date]:
    """Write down the estimates of a metric version, day by day, and yield each day that was written.

    A day is written if its number of reports or the metric's labels have changed since it was last written; with
    ``everything``, each day is. Estimates cover all strata together. Each day is one transaction, so the refresh can be
    stopped at any time and several can run at once; reports that arrive during it are found the next time. Nothing is
    written for a metric without values to estimate, such as a string without candidates. Raises StoreError.
    """
    summary = summary_of(metric)
    if summary.daily is None or not metric.question.estimable:
        return
    labels = _digest(metric.labels)
    written = {} if everything else store.estimates.bases(metric.version)
    reported = store.reports_by_day(metric)
    for day in store.estimates.bases(metric.version).keys() - reported.keys():
        store.days.purge(metric.version, day)  # its reports were removed while the estimates were computed
    for day, reports in reported.items():
        if written.get(day) != (reports, labels):
            survey = CollectedReports(metric, store.tally(metric, day, day), (day, day), {}, summary.estimate)
            table = summary.table(survey, Query())
            rows = summary.daily_rows(table)
            store.estimates.write(metric.version, day, (table.about["reports"], labels), summary.daily, rows)
            yield day


def _digest(labels: tuple[str, ...]) -> bytes:
    return hashlib.blake2b(json.dumps(labels).encode(), digest_size=16).digest()
