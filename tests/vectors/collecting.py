"""Vectors of the collector: accepted and refused bodies, sequences of uploads, and the sums of rows."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dither_server.access.origins import Origins
from dither_server.access.tokens import Role
from dither_server.app import collector_of, create_app
from dither_server.config.settings import Config
from dither_server.tally.tally import Tally
from dither_shared import Batch, Metric, Report, WireError, parse_metrics

from .catalogue import ENTRIES, VALUES, mechanism
from .rendering import Case
from .scripts import Recorded

_ID, _VERSION = "0123456789abcdef" * 2, "00112233aabbccdd"
_PLAIN: dict[str, object] = {"batch": _ID, "metric": "theme", "version": _VERSION, "reports": "AQIA"}


def _body(**changed: object) -> str:
    return json.dumps(_PLAIN | changed, separators=(",", ":"))


def _stratified(label: object) -> str:
    """Return a body with the stratum where a device writes it."""
    reports = {"reports": _PLAIN["reports"]}
    members = {key: value for key, value in _PLAIN.items() if key != "reports"} | {"stratum": label} | reports
    return json.dumps(members, separators=(",", ":"))


def _without(name: str) -> str:
    return json.dumps({key: value for key, value in _PLAIN.items() if key != name})


_PLAIN_BODY = _body()
_BODIES: tuple[str | bytes, ...] = (
    *(_PLAIN_BODY, json.dumps(_PLAIN), json.dumps(dict(reversed(_PLAIN.items()))), json.dumps(_PLAIN, indent="\t")),
    *(f" \r\n{_PLAIN_BODY}\n", _PLAIN_BODY.replace("batch", "b\\u0061tch"), _body(metric="")),
    *(_body(metric=text) for text in ("Zo\u00eb", "\U0001f600", 'a"b\\', "a]b}", "\ud800")),
    _PLAIN_BODY.replace('"theme"', '"Zo\u00eb"'),
    *(_body(reports=text) for text in ("AA==", "AAA=", "AAAA", "+/+/")),
    *("", " ", "hello", "3", '"text"', "null", "true", "[]", f"[{_PLAIN_BODY}]", "{}", "NaN", "[" * 1000),
    *(b"\xff\xfe", b"\xef\xbb\xbf" + _PLAIN_BODY.encode(), _PLAIN_BODY.encode("utf-16"), b'{"metric":"\xff"}'),
    *(_PLAIN_BODY + "x", _PLAIN_BODY * 2, _PLAIN_BODY[:-1], _PLAIN_BODY.replace('"', "'"), f"\u00a0{_PLAIN_BODY}"),
    *(_PLAIN_BODY.replace("}", ",}"), _PLAIN_BODY.replace('"theme"', '"the\nme"'), f"/**/{_PLAIN_BODY}"),
    *(_without(name) for name in _PLAIN),
    *(_body(metric=value) for value in (None, True, 1, 1.5, ["theme"], {"a": 1})),
    *(_PLAIN_BODY.replace('"theme"', text) for text in ("NaN", "Infinity", '"theme","metric":"theme"', '"\\ud8"')),
    *(_body(user="42"), _body(Batch=_ID), _PLAIN_BODY.replace('"theme"', '"theme","metric":"other"')),
    *(_body(batch=text) for text in ("", _ID[1:], f"{_ID}0", _ID.upper(), f"{_ID}\n", "g" * 32)),
    *(_body(version=text) for text in ("", _VERSION[1:], f"{_VERSION}0", _VERSION.upper(), "x" * 16)),
    *(_body(reports=text) for text in ("", "AQI", "AQIA\n", "AQ IA", "AQ==AQ==", "AR==", "AAB=", "A===", "====")),
    *(_body(reports=text) for text in ("_-_-", "\u00df\u00df\u00df\u00df", "AQIA=", "=AQIA")),
    *(_stratified(label) for label in ("linux", "linux/beta", "Zo\u00eb", "a b", "x" * 100, "\U0001f600" * 100)),
    *(_body(stratum="linux"), _stratified("linux").replace(",", " , "), _stratified("linux").replace("x", "\\u0078")),
    *(_stratified(label) for label in ("", "x" * 101, "li[nux", None, 1, ["linux"], {"platform": "linux"})),
    *(_stratified("a").replace('"a"', text) for text in ('"a","stratum":"b"', '"\n"', "a", "")),
)


def batches() -> Iterator[Case]:
    for body in _BODIES:
        given = body if isinstance(body, bytes) else body.encode()
        text = {"body": body} if isinstance(body, str) else {"body_hex": body.hex()}
        try:
            batch = Batch.decode(given)
        except WireError as error:
            yield {**text, "taken": None, "refused": str(error).partition(":")[0]}
            continue
        taken = {
            "batch": batch.batch,
            "metric": batch.metric,
            "version": batch.version,
            **({} if batch.stratum is None else {"stratum": batch.stratum}),
            "reports": batch.reports.hex(),
            "written": batch.encode().decode("ascii"),
        }
        yield {**text, "taken": taken, "refused": None}


_METRICS = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["light", "dark", "system"]\n'
    'epsilon = 1.0\n[metrics.browser]\ntype = "string"\nepsilon = 2.0\nbits = 20\ncohorts = 3\n'
)
_JSON = {"Content-Type": "application/json"}
_PAGE, _PLAIN_TEXT = "https://app.example", "text/plain;charset=UTF-8"


def _upload(number: int, rows: str, of: Metric, **changed: str) -> str:
    batch = Batch(f"{number:032x}", of.name, of.version, bytes.fromhex(rows))
    return json.dumps(json.loads(batch.encode()) | changed, separators=(",", ":"))


def _uploads() -> Iterator[tuple[Mapping[str, str], str]]:
    theme, browser = _METRICS["theme"], _METRICS["browser"]
    yield _JSON, _upload(1, "00", theme)
    yield _JSON, _upload(1, "00", theme)
    yield _JSON, _upload(1, "01", theme)
    yield _JSON, _upload(1, "00ffff0f", browser)
    yield _JSON, _upload(2, "00010203", theme)
    yield {"Content-Type": "application/json; charset=utf-8"}, _upload(3, "02ffff0f", browser)
    yield _JSON, _upload(4, "00010204", theme)
    yield _JSON, _upload(5, "03ffff0f", browser)
    yield _JSON, _upload(6, "02ffff10", browser)
    yield _JSON, _upload(7, "02ffff", browser)
    yield _JSON, _upload(8, "00" * 10, theme)
    yield _JSON, _upload(9, "00" * 11, theme)
    yield _JSON, _upload(10, "00", theme, metric="unknown")
    yield _JSON, _upload(11, "00", theme, version="0" * 16)
    yield _JSON, _upload(12, "00", theme, reports="AR==")
    yield _JSON, _upload(13, "00", theme, user="42")
    yield _JSON, _upload(14, "00", theme) + " " * 1000
    yield _JSON, "{}"
    yield {"Content-Type": "text/csv"}, _upload(15, "00", theme)
    yield {"Content-Type": "application/json; charset=latin-1"}, _upload(15, "00", theme)
    yield {**_JSON, "Content-Encoding": "gzip"}, _upload(15, "00", theme)
    yield {}, _upload(15, "00", theme)
    yield _JSON, _upload(15, "00", theme)
    for number, content_type in enumerate(("text/plain", _PLAIN_TEXT, "application/json"), 16):
        for origin in (None, _PAGE, "https://other.example", "null", f"{_PAGE}/", f"{_PAGE}, {_PAGE}"):
            headers = {"Content-Type": content_type, **({} if origin is None else {"Origin": origin})}
            yield headers, _upload(number, "00", theme)
    yield {"Content-Type": "text/plain;charset=latin-1", "Origin": _PAGE}, _upload(19, "00", theme)
    yield {"Content-Type": _PLAIN_TEXT, "Origin": _PAGE}, "{}"


def answered() -> Iterator[Case]:
    with TemporaryDirectory() as folder:
        config = Config(
            metrics=_METRICS,
            db=f"sqlite:///{Path(folder)}/vectors.db",
            today=lambda: date(2026, 11, 20),
            open=frozenset({Role.REPORT}),
            body_limit=1000,
            rows_limit=10,
            origins=Origins((_PAGE,)),
        )
        app = create_app(config)
        try:
            client = app.test_client()
            for headers, body in _uploads():
                response = client.post("/v1/reports", data=body.encode(), headers=dict(headers))
                content = json.loads(response.data)
                yield {
                    "headers": headers,
                    "body": body,
                    "status": response.status_code,
                    "accepted": content.get("accepted"),
                    "problem": content.get("type"),
                    "readable": response.headers.get("Access-Control-Allow-Origin"),
                }
        finally:
            collector_of(app).close()


_TALLIED = (
    ("symmetric-unary 10 epsilon=1.0", 300),
    ("rappor epsilon=1.0 bits=3 hashes=2 cohorts=2", 600),
    ("randomized-response 10 epsilon=25.0", 1000),
    ("local-hashing 10 epsilon=1.0", 300),
    ("subset-selection 12 epsilon=4.0", 100),
    ("bit-flip 10 epsilon=1.0 bits=10", 300),
)


def tallies() -> Iterator[Case]:
    small = ((name, 5) for name in ENTRIES if mechanism(name).row_bytes <= 40)
    for name, count in (*small, *_TALLIED):
        yield _folded(name, _rows(name, count))
    for name, rows in (
        ("randomized-response 10 epsilon=1.0", "0a"),
        ("randomized-response 257 epsilon=1.0", "0101"),
        ("randomized-response 257 epsilon=1.0", "00"),
        ("symmetric-unary 10 epsilon=1.0", "ff03ff04"),
        ("rappor epsilon=1.0 bits=3 hashes=2 cohorts=2", "0107010807"),
        ("rappor epsilon=1.0 bits=3 hashes=2 cohorts=2", "0207"),
        ("local-hashing 10 epsilon=1.0", "ff00"),
        ("subset-selection 2048 epsilon=4.0", "ff" * mechanism("subset-selection 2048 epsilon=4.0").row_bytes),
        ("subset-selection 100 epsilon=4.0", "00" * mechanism("subset-selection 100 epsilon=4.0").row_bytes),
    ):
        yield _folded(name, bytes.fromhex(rows))


def _rows(name: str, count: int) -> bytes:
    one, entropy, rows = mechanism(name), Recorded(f"rows {name} {count}"), b""
    for number in range(count):
        cohort = one.draw_cohort(entropy)
        item = VALUES[number % len(VALUES)] if one.size is None else number % one.size
        rows += Report(cohort, one.randomize(item, entropy, cohort)).encode(one)
    return rows


def _folded(name: str, rows: bytes) -> Case:
    try:
        tally = Tally.fold(mechanism(name), rows)
    except WireError as error:
        return {
            "mechanism": name,
            "rows": rows.hex(),
            "reports": None,
            "counts": None,
            "refused": str(error).partition(":")[0],
        }
    reports = [[int(cohort), int(tally.reports[cohort])] for cohort in np.flatnonzero(tally.reports)]
    counts = [[int(place) for place in (*cell, tally.counts[tuple(cell)])] for cell in np.argwhere(tally.counts)]
    return {"mechanism": name, "rows": rows.hex(), "reports": reports, "counts": counts, "refused": None}
