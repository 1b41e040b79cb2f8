"""No stratum attribute shares its name with an argument, a column or a URL parameter."""

import inspect
import json
from pathlib import Path

import pytest

import dither
from dither_server.reading.exports import columns
from dither_server.reading.summaries import SUMMARIES
from dither_shared import ParameterError, Strata

_API = json.loads((Path(__file__).parents[1] / "server" / "api" / "openapi.json").read_text())


def arguments() -> set[str]:
    functions = [getattr(home, name) for home in (dither, dither.Client) for name in ("record", "outcome", "timer")]
    accepted = [parameter for function in functions for parameter in inspect.signature(function).parameters.values()]
    return {parameter.name for parameter in accepted if parameter.kind is not parameter.VAR_KEYWORD}


def parameters() -> set[str]:
    """Return the parameters of all URLs of one metric."""
    operations = [
        operation
        for path, item in _API["paths"].items()
        if "{name}" in path
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    return {parameter["name"] for operation in operations for parameter in operation.get("parameters", ())}


def test_names_with_another_meaning_beside_the_attributes_are_refused() -> None:
    taken = arguments() | parameters() | columns([*SUMMARIES.values()]).keys()
    assert len(taken) > 40
    for name in sorted(taken):
        with pytest.raises(ParameterError, match=f"^strata\\.{name}: is a reserved name"):
            Strata.of([(name, ["a"])])
