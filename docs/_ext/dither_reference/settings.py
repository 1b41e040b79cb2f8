"""Reference of settings: every one of a program, where it is given, its type, its default and what it is about."""

from dataclasses import MISSING, Field
from typing import Any

from dither_relay.config import RELAY
from dither_server.access.origins import Origins
from dither_server.config.settings import Releases
from dither_server.config.sources import COLLECTOR, Sources, flag_of
from dither_server.tally.retention import Retention

from .markdown import code, plain, table

__all__ = ["settings"]

_SOURCES: dict[str, Sources[Any]] = {"collector": COLLECTOR, "relay": RELAY}
_TYPES = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    frozenset: "list of roles",
    Origins: "list of origins",
    Releases: "list of releases",
    Retention: "text",
}


def settings(program: str) -> str:
    """Return the table of the settings of the ``collector`` or the ``relay``."""
    sources = _SOURCES[program]
    rows = [_row(name, one, sources) for name, one in sources.settings.items()]
    return table(("setting, flag, variable", "type", "default", "what it is about"), rows)


def _row(name: str, one: Field[Any], sources: Sources[Any]) -> tuple[str, str, str, str]:
    flag = flag_of(name)
    if isinstance(one.default, bool):
        flag = f"{flag}, --no-{flag[2:]}"
    names = "<br>".join(map(code, (name, *flag.split(", "), sources.variable_of(name))))
    kind = str if one.default is MISSING else type(one.default)
    return names, _TYPES[kind], _default(one.default), plain(one.metadata["about"])


def _default(value: object) -> str:
    if value is MISSING:
        return "must be given"
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, int | float):
        return code(str(value))
    return code(value) if isinstance(value, str) and value else "none"
