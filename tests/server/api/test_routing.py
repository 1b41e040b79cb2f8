"""A route declares itself: from that follow its guard and the reading of its parameters (test_openapi describes it)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import pytest
from flask import Blueprint, Flask
from werkzeug.datastructures import MultiDict
from werkzeug.routing import Rule

from dither_server.access.tokens import OPEN, Role, digest_of, draw_token
from dither_server.api.routing import HTML, as_json, declared
from dither_server.app import collector_of
from dither_server.reading.parameters import COUNT, TEXTS, Parameters, one_of
from dither_server.reading.schemas import Schema
from dither_server.store import StoredToken
from dither_serving.problems import Kind, Problem
from dither_shared import ParameterError
from server.collecting import TODAY, problem

TOY = Schema("Toy", {"type": "object"})


@dataclass(frozen=True, kw_only=True)
class ToyQuery(Parameters):
    """The parameters of a toy."""

    colour: Annotated[str, one_of(["red", "blue"])("Paint it so.")] = "red"
    pieces: Annotated[int | None, COUNT("Break it into so many.")] = None
    labels: Annotated[tuple[str, ...], TEXTS("Write these on it.")] = ()


def toys() -> Blueprint:
    toys = Blueprint("toys", __name__)

    @toys.get("/toys/<name>/parts/<part>")
    @declared(role=Role.READ, reads=ToyQuery, answers=as_json(TOY), problems=(Kind.NOT_FOUND,))
    def show_toy(query: ToyQuery, name: str, part: str) -> dict[str, object]:
        """Show a toy."""
        if name == "lost":
            raise Problem(Kind.NOT_FOUND, "it is lost")
        return {"parts": [{"name": f"{query.colour} {name} {part}"}] * (query.pieces or 1)}

    @toys.put("/box")
    @declared(role=Role.ADMIN, answers=HTML)
    def change_box() -> str:
        """Change the box."""
        return "box"

    @toys.get("/forgotten")
    def forgotten() -> str:
        return "for nobody"

    @declared(role=OPEN, answers=HTML)
    @toys.get("/upside-down")
    def upside_down() -> str:
        return "for nobody, either"

    return toys


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    app = make_app(open=frozenset(), trust_loopback=False)
    app.register_blueprint(toys())
    return app


def bearing(app: Flask, role: Role) -> dict[str, str]:
    token = draw_token(role)
    collector_of(app).store.tokens.add(StoredToken(digest_of(token), role.value, "", TODAY))
    return {"Authorization": f"Bearer {token}"}


def test_declared_route_is_served_to_its_role_alone(app: Flask) -> None:
    client = app.test_client()
    path = "/toys/bear/parts/7?colour=blue&pieces=2"
    reporter, reader, admin = (bearing(app, role) for role in (Role.REPORT, Role.READ, Role.ADMIN))
    assert problem(client.get(path)) == (401, "unauthorized")
    assert problem(client.get(path, headers=reporter)) == (403, "forbidden")
    assert client.get(path, headers=reader).json == {"parts": [{"name": "blue bear 7"}] * 2}
    assert problem(client.get("/toys/lost/parts/1", headers=reader)) == (404, "not-found")
    assert problem(client.get("/toys/bear/parts/1?size=2", headers=reader)) == (400, "parameter")
    assert problem(client.put("/box", headers=reader)) == (403, "forbidden")
    assert client.put("/box", headers=admin).text == "box"


def test_route_that_declares_nothing_is_refused_to_everyone(app: Flask) -> None:
    app.url_map.add(Rule("/viewless", endpoint="viewless"))
    admin, client = bearing(app, Role.ADMIN), app.test_client()
    for path in ("/forgotten", "/upside-down", "/viewless"):
        for headers in ({}, admin):
            for method in ("GET", "HEAD", "OPTIONS"):
                assert client.open(path, method=method, headers=headers).status_code == 403, (path, method)
        assert path not in client.get("/openapi.json").get_json()["paths"]


def read(kind: type[Parameters], *pairs: tuple[str, str]) -> Parameters:
    return kind.read(MultiDict(pairs))


def test_parameters_are_read_as_declared_and_errors_name_them() -> None:
    assert read(ToyQuery) == ToyQuery()
    arguments = [("labels", "a"), ("pieces", "3"), ("labels", ""), ("colour", "blue")]
    assert read(ToyQuery, *arguments) == ToyQuery(labels=("a", ""), pieces=3, colour="blue")
    for pairs, said in (
        ([("owner", "me")], "'owner': unknown; known here: colour, pieces, labels"),
        ([("pieces", "3"), ("pieces", "3")], "pieces: given twice"),
        ([("pieces", "0")], "pieces: not a whole number of at least 1"),
        ([("pieces", "1" * 10)], "pieces: not a whole number"),
        ([("\udcff" * 10_000, "3")], "unknown"),
    ):
        with pytest.raises(ParameterError, match=said) as refused:
            read(ToyQuery, *pairs)
        assert len(str(refused.value)) < 400
