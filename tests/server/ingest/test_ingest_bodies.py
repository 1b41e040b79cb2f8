"""Bodies of POST /v1/reports: how much of a request is read, and which bodies are refused."""

import base64
import io
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dither_server.app import collector_of
from server.collecting import THEME, VERSION, batch, problem, rows_of
from server.ingest.posting import JSON, changed, post


def encoded(rows: bytes) -> str:
    return base64.b64encode(rows).decode()


MALFORMED = {
    "blank": b" ",
    "not JSON": b"theme=dark",
    "deep brackets": b"[" * 20_000,
    "deep braces": b'{"a":' * 4000,
    "array": b'["a"]',
    "number": b"7",
    "NaN": changed().replace(b'"metric": "theme"', b'"metric": NaN'),
    "Infinity": changed().replace(b'"metric": "theme"', b'"metric": -Infinity'),
    "duplicate key": changed()[:-1] + b', "metric": "theme"}',
    "not UTF-8": changed().replace(b"theme", b"th\xffme"),
    "UTF-16": batch().encode().decode().encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + batch().encode(),
    "trailing text": batch().encode() + b"x",
    "unknown member": changed(user="me"),
    "missing batch": changed(batch=None),
    "missing reports": changed(reports=None),
    "null": batch().encode().replace(b'"theme"', b"null"),
    "bool": changed(batch=True),
    "int": changed(version=1),
    "float": changed(reports=1.5),
    "nested": changed(metric={"name": "theme"}),
    "huge number": batch().encode().replace(b'"theme"', b"9" * 5000),
    "batch too short": changed(batch="ab"),
    "batch upper case": changed(batch="AB" * 16),
    "version too long": changed(version="0" * 17),
    "no base64": changed(reports="!!!!"),
    "base64 with a line end": changed(reports="AAAA\nAAAA"),
    "base64 of the URL kind": changed(reports="__--"),
    "base64 unpadded": changed(reports="AA"),
    "base64 not canonical": changed(reports="AB=="),
    "base64 not ASCII": changed(reports="ÄÄÄÄ"),
    "no rows": changed(reports=""),
    "symbol beyond the last": changed(reports=encoded(b"\x00\x04")),
    "bits beyond the last": batch(VERSION, b"\x00\x00\x00\x10").encode(),
    "cohort beyond the last": batch(VERSION, b"\x03\x00\x00\x00").encode(),
    "half a row": batch(VERSION, rows_of(VERSION, 2)[:-1]).encode(),
}


def test_malformed_bodies_are_refused_and_leave_no_trace(door: FlaskClient, app: Flask) -> None:
    store, wrong = collector_of(app).store, []
    for name, body in MALFORMED.items():
        answer = problem(post(door, body))
        if answer != (400, "malformed") or store.tally(THEME).total or store.tally(VERSION).total:
            wrong.append((name, answer))
    assert not wrong


def test_only_json_without_a_content_encoding_is_accepted(door: FlaskClient) -> None:
    other = ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", f"{JSON}; charset=latin-1"]
    unread: list[dict[str, Any]] = [{"content_type": content} for content in other]
    unread += [{"headers": {"Content-Encoding": encoding}} for encoding in ("gzip", "identity", "br")]
    for wrong in unread:
        assert problem(post(door, batch().encode(), **wrong)) == (415, "media-type"), wrong
    for right in (JSON, 'Application/JSON; charset="UTF-8"'):
        assert post(door, batch().encode(), content_type=right).status_code == 202, right


class Untouchable:
    """A body that nobody may read."""

    def read(self, *_: int) -> bytes:
        raise AssertionError("the body was read")


def environ(**changes: Any) -> dict[str, Any]:
    return {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/reports", "CONTENT_TYPE": JSON, **changes}


def call(door: FlaskClient, **changes: Any) -> TestResponse:
    """Post with an environment that no well-behaved client would make."""
    return door.open(environ_overrides=environ(**changes), path="/v1/reports", method="POST")


def test_body_that_is_too_large_or_of_no_length_is_refused_unread(door: FlaskClient) -> None:
    wrong = ["-1", "+5", "5,5", "5, 5", " 5", "1e3", "abc", "١", "²", "9" * 21, "9" * 4400]
    for length, answer in (
        *(dict.fromkeys(("20001", "10000000", "9" * 20), (413, "too-large")).items()),
        *(dict.fromkeys(wrong, (400, "malformed")).items()),
        ("", (411, "length-required")),
    ):
        sent = call(door, CONTENT_LENGTH=length, **{"wsgi.input": Untouchable()})
        assert problem(sent) == answer, length


def test_body_of_exactly_the_limit_is_read(door: FlaskClient) -> None:
    body = batch().encode()
    assert post(door, body + b" " * (20_000 - len(body))).status_code == 202
    assert problem(post(door, body + b" " * (20_001 - len(body)))) == (413, "too-large")


def test_content_length_is_not_required_if_the_server_knows_the_end(door: FlaskClient) -> None:
    body = batch().encode()
    chunked = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    assert call(door, **chunked, **{"wsgi.input": io.BytesIO(body)}).status_code == 202
    endless = io.BytesIO(body + b" " * 1_000_000)
    assert problem(call(door, **chunked, **{"wsgi.input": endless})) == (413, "too-large")
    assert endless.tell() <= 20_001


def test_body_shorter_than_its_length_is_refused(door: FlaskClient) -> None:
    """It is refused even if it happens to be complete JSON, because something may have been cut."""
    body = batch().encode()
    short = call(door, CONTENT_LENGTH=str(len(body) + 1), **{"wsgi.input": io.BytesIO(body)})
    assert problem(short) == (400, "malformed")


def test_batch_of_more_rows_than_the_limit_is_refused(door: FlaskClient, app: Flask) -> None:
    assert post(door, batch(rows=b"\x00" * 1000).encode()).json == {"accepted": 1000}
    assert problem(post(door, batch(rows=b"\x00" * 1001).encode())) == (413, "too-large")
    assert collector_of(app).store.tally(THEME).total == 1000


def test_answer_never_quotes_the_request(door: FlaskClient) -> None:
    marker = "Zm9vYmFyMTIz"
    members = [{"metric": marker}, {"batch": marker}, {"version": marker}, {"reports": marker}, {marker: "x"}]
    for body in [marker.encode(), changed(reports=marker + "!"), *(changed(**change) for change in members)]:
        response = post(door, body)
        assert response.status_code >= 400
        assert marker.encode() not in response.data
