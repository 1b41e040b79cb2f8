"""Options of commands that follow from the fields of a query, as the parameters of the API do."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

import click

from dither_shared import ParameterError

from ..reading.parameters import Parameter, Parameters
from .options import CommandError

Q = TypeVar("Q", bound=Parameters)

_FLAGS = {"values": "--value", "strata": "--stratum"}
"""Options whose names differ from their fields, because each gives one of several values."""


def query_options(kind: type[Q], *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of these fields of a query, or for all, and the query as ``query``."""
    known = kind.parameters()
    chosen = {name: known[name] for name in names or known}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapped(*args: Any, **options: Any) -> None:
            given = {name: options.pop(name) for name in chosen}
            try:
                query = kind(
                    **{name: _read(name, chosen[name], text) for name, text in given.items() if text not in {None, ()}}
                )
            except ParameterError as error:
                place = _flag_of(error.place) if error.place in chosen else error.place
                raise CommandError(f"{place}: {error.problem}") from None
            command(*args, query=query, **options)

        decorated: Callable[..., None] = wrapped
        defaults = {one.name: one.default for one in fields(kind)}
        for name, parameter in reversed(chosen.items()):
            decorated = _option(name, parameter, defaults[name])(decorated)
        return decorated

    return decorate


def json_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")(command)


def strata_of(given: Sequence[str], place: str = "--stratum", prefix: str = "") -> tuple[tuple[str, str], ...]:
    """Return attributes, named with a prefix, and their values; raise ParameterError for one without a value."""
    pairs = [one.partition("=") for one in given]
    names = [name for name, _, _ in pairs]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise ParameterError(place, "not an attribute with a value; write it as platform=linux")
        if names.count(name) > 1:
            raise ParameterError(place, f"{name} is given twice")
    return tuple((prefix + name, value) for name, _, value in pairs)


def _flag_of(name: str) -> str:
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def _is_truth(parameter: Parameter) -> bool:
    return parameter.schema.get("enum") == ["true", "false"]


def _option(name: str, parameter: Parameter, default: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    flag, about = _flag_of(name), parameter.description
    if _is_truth(parameter):
        return click.option(flag, name, is_flag=True, help=about)
    if parameter.takes_others:
        return click.option(flag, name, metavar="NAME=VALUE", multiple=True, help=about)
    if parameter.repeats:
        return click.option(flag, name, metavar=_metavar(parameter.schema["items"]), multiple=True, help=about)
    shown: dict[str, Any] = {"default": str(default), "show_default": True} if default not in {None, 0} else {}
    if "enum" in parameter.schema:
        return click.option(flag, name, type=click.Choice(parameter.schema["enum"]), help=about, **shown)
    return click.option(flag, name, metavar=_metavar(parameter.schema), help=about, **shown)


def _metavar(schema: Any) -> str:
    if schema.get("format") == "date":
        return "DAY"
    return {"integer": "N", "number": "NUMBER"}.get(schema["type"], "TEXT")


def _read(name: str, parameter: Parameter, given: Any) -> object:
    """Return what an option gives a query. Raises ParameterError at the option."""
    if _is_truth(parameter):
        return given
    if parameter.takes_others:
        return strata_of(given)
    return parameter.value(list(given) if parameter.repeats else [given], _flag_of(name))
