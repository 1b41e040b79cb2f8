"""Write answers for other programs: as JSON, or as a table with the same columns in every format.

Which columns its rows have is said by the summary of the kind of question: of shares ``Row`` in
``analysis/answers.py``, of numbers ``NumberRow`` in ``summaries/numbers/rows.py``. Where answers of several
kinds stand in one table, it has the columns of all, and a row is empty where it is not about one.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, get_args, get_type_hints

import numpy as np
from werkzeug.datastructures import MIMEAccept

from dither_serving.problems import Kind, Problem
from dither_shared import Metric

from ..analysis.answers import About
from ..analysis.columns import Table
from .summaries import summary_of
from .summaries.summary import Summary

__all__ = [
    "FORMATS",
    "Answered",
    "Format",
    "answered",
    "attributes_of",
    "chosen",
    "columns",
    "inert",
    "json_object",
    "real",
]

Answered = tuple[Summary[Any], Table]
"""An answer, and the summary of its kind of question."""

_ABOUT = ("metric", "version", "since", "until", "reports", "confidence", "simultaneous")
"""The fields about an answer that each row repeats, so that tables can be laid below one another."""

_DAYS = frozenset({"since", "until"})
_TYPES = {name: get_type_hints(About)[name] for name in _ABOUT}

_SIGNS = "=+\\-@＝＋－＠"
_RISKY = re.compile(rf"^['\s\x00-\x1f]|(^|[;\t\r\n])[\s\x00-\x1f\"]*[{_SIGNS}]")
"""Labels that a spreadsheet may run: their first sign begins a formula, or what follows a separator does. It takes
full-width signs for plain ones, drops blanks and quotes in front, and in many countries parts cells at semicolons."""


@dataclass(frozen=True)
class Format:
    """A format that writes answers piece by piece, so that only one of many is in memory.

    ``write`` takes the answers, the kinds that are among them, and the attributes of their strata, each of which has a
    column; it is empty of an answer about all values of it. ``package`` is a package that it needs besides, and
    ``extra`` the extra of dither that installs it.
    """

    name: str
    media_type: str
    write: Callable[[Iterable[Answered], Sequence[Summary[Any]], Sequence[str]], Iterator[bytes]]
    package: str | None = None
    extra: str | None = None

    @property
    def missing(self) -> str | None:
        """What to install before this format can be written, in words; None if nothing."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return f"{self.name} needs {self.package}, which is not installed: pip install 'dither[{self.extra}]'"


def answered(metric: Metric, tables: Iterable[Table]) -> Iterator[Answered]:
    """Yield the answers about one metric with their summary."""
    summary = summary_of(metric)
    return ((summary, table) for table in tables)


def attributes_of(metrics: Iterable[Metric]) -> list[str]:
    """Return the attributes of all their strata, each once."""
    return list(dict.fromkeys(name for metric in metrics if metric.strata for name in metric.strata.names))


def columns(kinds: Sequence[Summary[Any]], attributes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the types of a table's columns: those about an answer, attributes, then the rows of each kind."""
    of_rows = {name: hint for kind in kinds for name, hint in get_type_hints(kind.row).items()}
    return _TYPES | dict.fromkeys(attributes, str | None) | of_rows


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


def inert(label: str) -> str:
    """Return a label as it is written in CSV: one that a spreadsheet could take for a formula is escaped.

    An escaped label begins with an apostrophe, and no other does; what follows is the inside of a JSON string, in which
    no separator of cells is left. So ``real`` tells which label it was.
    """
    if not _RISKY.search(label):
        return label
    return "'" + json.dumps(label, ensure_ascii=False)[1:-1].replace(";", "\\u003b")


def real(written: str) -> str:
    """Return the label that ``inert`` wrote."""
    return str(json.loads(f'"{written[1:]}"')) if written.startswith("'") else written


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _json(answers: Iterable[Answered], kinds: Sequence[Summary[Any]], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield a list of the API's answers."""
    before = b"["
    for _, table in answers:
        yield before
        yield from json_object(table)
        before = b",\n"
    yield b"[]\n" if before == b"[" else b"]\n"


def _ndjson(answers: Iterable[Answered], kinds: Sequence[Summary[Any]], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield one JSON object a line."""
    for summary, table in answers:
        about = _about(table)
        for rows in summary.flat(table).chunks():
            yield "".join(f"{_dumped(about | row)}\n" for row in rows).encode()


def _csv(answers: Iterable[Answered], kinds: Sequence[Summary[Any]], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield CSV with a header line (RFC 4180); what is not defined is empty."""
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
    """Return what is written in a cell of CSV: text that no spreadsheet runs, and true and false as in JSON."""
    if isinstance(cell, str):
        return inert(cell)
    return ("true" if cell else "false") if isinstance(cell, bool) else cell


def _arrow(answers: Iterable[Answered], kinds: Sequence[Summary[Any]], attributes: Sequence[str]) -> Iterator[bytes]:
    """Yield an Arrow IPC stream: days are dates, numbers that are not defined are null."""
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    hints = columns(kinds, attributes)

    def kind(column: str) -> Any:
        return types[next((one for one in (hints[column], *get_args(hints[column])) if one in types), str)]

    def array(column: str, values: Any) -> Any:
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            return pa.array(values, kind(column), mask=~np.isfinite(values))
        return pa.array(values, kind(column))

    schema = pa.schema([(column, pa.date32() if column in _DAYS else kind(column)) for column in hints])
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
    return {**{name: table.about.get(name) for name in _ABOUT}, **table.about.get("stratum", {})}


FORMATS = {
    one.name: one
    for one in (
        Format("json", "application/json", _json),
        Format("csv", "text/csv", _csv),
        Format("ndjson", "application/x-ndjson", _ndjson),
        Format("arrow", "application/vnd.apache.arrow.stream", _arrow, package="pyarrow", extra="arrow"),
    )
}
"""Every format by its name, the preferred first."""


def chosen(name: str | None, accept: MIMEAccept) -> Format:
    """Return the format of that name; if None, what ``accept`` prefers among those that can be written here.

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
