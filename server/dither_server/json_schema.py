"""JSON schemas for the API's description: each is defined once, and referred to by name."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Schema:
    """A JSON schema with its name in the document; ``holds`` may contain other Schemas."""

    name: str
    holds: Json


class Optional(Json):
    """The schema of a property that some objects lack."""


TEXT: Json = {"type": "string"}
STRINGS: Json = {"type": "array", "items": TEXT}
NUMBER: Json = {"type": ["number", "null"]}
REPORTS: Json = {"type": "integer", "minimum": 0}


def object_of(properties: Json, **more: Any) -> Json:
    """Return the schema of an object with at least these properties, except for those that are ``Optional``."""
    required = [name for name, one in properties.items() if not isinstance(one, Optional)]
    return {"type": "object", "properties": properties, "required": required, **more}


def closed(properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return object_of(properties, additionalProperties=False)


def list_of(properties: Json, **more: Any) -> Json:
    """Return the schema of an array of such objects."""
    return {"type": "array", "items": closed(properties), **more}
