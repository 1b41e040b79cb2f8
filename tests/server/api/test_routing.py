"""A route declares itself: a function with its declaration, and nothing else, is served, guarded and described."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from flask import Blueprint, Flask
from werkzeug.datastructures import MultiDict
from werkzeug.routing import Rule

from dither_server.access.gatekeeper import Role, digest_of, draw_token
from dither_server.access.roles import OPEN
from dither_server.api.routing import HTML, as_json, declared
from dither_server.app import collector_of, create_app
from dither_server.protocol.json_schema import Schema
from dither_server.protocol.problems import Kind, Problem
from dither_server.reading.parameters import COUNT, TEXT, TEXTS, Parameters, one_of
from dither_server.store import StoredToken
from dither_shared import ParameterError
from server.collecting import TODAY, config, problem

PART = Schema("Part", {"type": "object", "properties": {"name": {"type": "string"}}})
TOY = Schema("Toy", {"type": "object", "properties": {"parts": {"type": "array", "items": PART}}})


@dataclass(frozen=True, kw_only=True)
class ToyQuery(Parameters):
    """What may be asked of a toy."""

    colour: Annotated[str, one_of(["red", "blue"])("Paint it so.")] = "red"
    pieces: Annotated[int | None, COUNT("Break it into so many.")] = None
    labels: Annotated[tuple[str, ...], TEXTS("Write these on it.")] = ()


@dataclass(frozen=True, kw_only=True)
class NamedToyQuery(ToyQuery):
    """One more parameter than its base."""

    owner: Annotated[str, TEXT("Give it to this one.")] = ""


def toys() -> Blueprint:
    toys = Blueprint("toys", __name__)

    @toys.get("/toys/<name>/parts/<part>")
    @declared(role=Role.READ, reads=ToyQuery, answers=as_json(TOY), problems=(Kind.NOT_FOUND,))
    def show_toy(query: ToyQuery, name: str, part: str) -> dict[str, object]:
        """Show a toy.

        Nobody reads this.
        """
        if name == "lost":
            raise Problem(Kind.NOT_FOUND, "it is lost")
        return {"parts": [{"name": f"{query.colour} {name} {part}"}] * (query.pieces or 1)}

    @toys.put("/toys/<name>")
    @declared(role=Role.ADMIN, takes=TOY, answers=as_json(TOY, 201, "Made."))
    def make_toy(name: str) -> tuple[dict[str, object], int]:
        """Make a toy."""
        return {"parts": [{"name": name}]}, 201

    @toys.get("/toys")
    @declared(role=Role.READ, answers=HTML)
    def show_toys() -> str:
        """Show the toys as a page."""
        return "toys"

    @toys.get("/box")
    @declared(role=OPEN, answers=HTML)
    def show_box() -> str:
        """Show the box as a page."""
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
def app(tmp_path: Path) -> Iterator[Flask]:
    app = create_app(config(tmp_path, open=frozenset(), trust_loopback=False))
    app.register_blueprint(toys())
    yield app
    collector_of(app).close()


def bearing(app: Flask, role: Role) -> dict[str, str]:
    token = draw_token(role)
    collector_of(app).store.tokens.add(StoredToken(digest_of(token), role.value, "", TODAY))
    return {"Authorization": f"Bearer {token}"}


def test_a_declared_route_is_served_and_refused_without_its_role(app: Flask) -> None:
    client = app.test_client()
    path = "/toys/bear/parts/7?colour=blue&pieces=2"
    reporter, reader, admin = (bearing(app, role) for role in (Role.REPORT, Role.READ, Role.ADMIN))
    assert problem(client.get(path)) == (401, "unauthorized")
    assert problem(client.get(path, headers=reporter)) == (403, "forbidden")
    assert client.get(path, headers=reader).json == {"parts": [{"name": "blue bear 7"}] * 2}
    assert problem(client.get("/toys/lost/parts/1", headers=reader)) == (404, "not-found")
    assert problem(client.get("/toys/bear/parts/1?size=2", headers=reader)) == (400, "parameter")
    assert problem(client.put("/toys/bear", headers=reader)) == (403, "forbidden")
    assert client.put("/toys/bear", headers=admin).status_code == 201
    assert client.get("/box").text == "box"


@pytest.mark.parametrize("path", ["/forgotten", "/upside-down", "/viewless"])
def test_a_route_that_declares_nothing_is_refused_to_everyone(path: str, app: Flask) -> None:
    app.url_map.add(Rule("/viewless", endpoint="viewless"))
    for headers in ({}, bearing(app, Role.ADMIN)):
        for method in ("GET", "HEAD", "OPTIONS"):
            answer = app.test_client().open(path, method=method, headers=headers)
            assert answer.status_code == 403
    assert path not in app.test_client().get("/openapi.json").json["paths"]  # type: ignore[index]


def test_a_declared_route_stands_in_the_description(app: Flask) -> None:
    document: Any = app.test_client().get("/openapi.json").json
    toy = document["paths"]["/toys/{name}/parts/{part}"]["get"]
    assert (toy["operationId"], toy["summary"]) == ("show_toy", "Show a toy.")
    assert toy["security"] == [{"token": ["read", "admin"]}, {"password": ["read", "admin"]}, {}]
    assert [(one["name"], one["in"], one["schema"]) for one in toy["parameters"]] == [
        ("name", "path", {"type": "string", "pattern": "^[^/]+$"}),
        ("part", "path", {"type": "string", "pattern": "^[^/]+$"}),
        ("colour", "query", {"enum": ["red", "blue"]}),
        ("pieces", "query", {"type": "integer", "minimum": 1, "maximum": 999_999_999}),
        ("labels", "query", {"type": "array", "items": {"type": "string"}}),
    ]
    said = {status: response["description"] for status, response in toy["responses"].items()}
    assert set(said) == {"200", "400", "401", "403", "404", "429", "500", "503"}
    assert said["404"] == "urn:dither:problem:not-found: No such page"
    assert toy["responses"]["200"]["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Toy"}}}
    assert document["components"]["schemas"]["Toy"]["properties"]["parts"]["items"] == {
        "$ref": "#/components/schemas/Part"
    }
    assert document["components"]["schemas"]["Part"] == PART.holds


def test_bodies_open_routes_and_pages_are_described_as_such(app: Flask) -> None:
    document: Any = app.test_client().get("/openapi.json").json
    made = document["paths"]["/toys/{name}"]["put"]
    assert made["requestBody"]["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Toy"}}}
    assert [one["name"] for one in made["parameters"]] == ["name"]
    assert made["responses"]["201"]["description"] == "Made."
    assert made["security"] == [{"token": ["admin"]}, {"password": ["admin"]}, {}]
    page = document["paths"]["/box"]["get"]
    assert (page["security"], page["parameters"]) == ([], [])
    assert page["responses"]["200"]["content"] == {"text/html": {}}


def test_a_page_is_entered_with_a_token_and_no_other_route_is(app: Flask) -> None:
    local = collector_of(app).gatekeeper.draw_local_token(8000)
    client = app.test_client()
    entered = client.get(f"/toys?token={local.token}")
    assert (entered.status_code, entered.headers["Location"]) == (303, "/toys")
    assert problem(app.test_client().get(f"/toys/bear/parts/1?token={local.token}")) == (401, "unauthorized")


def read(kind: type[Parameters], *pairs: tuple[str, str]) -> Parameters:
    return kind.read(MultiDict(pairs))


def test_parameters_are_read_as_their_fields_say() -> None:
    assert read(ToyQuery) == ToyQuery()
    given = [("labels", "a"), ("pieces", "3"), ("labels", ""), ("owner", "me")]
    assert read(NamedToyQuery, *given) == NamedToyQuery(labels=("a", ""), pieces=3, owner="me")
    assert list(NamedToyQuery.parameters()) == ["colour", "pieces", "labels", "owner"]
    assert list(ToyQuery.parameters()) == ["colour", "pieces", "labels"]  # which its subclass does not change


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("owner", "me")], "'owner': unknown; known here: colour, pieces, labels"),
        ([("pieces", "3"), ("pieces", "3")], "pieces: given twice"),
        ([("pieces", "0")], "pieces: not a whole number from 1"),
        ([("pieces", "1" * 10)], "pieces: not a whole number"),
        ([("\udcff" * 10_000, "3")], "unknown"),
    ],
)
def test_parameters_that_cannot_be_read_are_named(pairs: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as refused:
        read(ToyQuery, *pairs)
    assert len(str(refused.value)) < 400
