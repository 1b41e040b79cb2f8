"""Operator: read ``operator.toml``, in which the operator of a collector says what no program knows."""

import tomllib
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from dither_shared.errors import ParameterError
from dither_shared.questions.fields import Fields

from ...upload.transport import Endpoint

_HEAD = """\
# operator.toml: who runs the telemetry of this app, and how. Fill in the first part; it takes ten minutes.
# Then: python -m dither papers --operator operator.toml --metrics metrics.toml
"""
_LONGEST = 12
_REST = "\n# Change these if they apply. What is empty, 0 or false is left out, or called not declared.\n"


def _needed(about: str, example: object) -> Any:
    return field(metadata={"about": about, "example": example})


def _optional(default: object, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class Operator:
    """What the papers need to know beside the questions. Raises ParameterError for an impossible value."""

    name: str = _needed("who is responsible: a person, a company or an association", "Notes e.V.")
    address: str = _needed("their postal address", "Example Street 1, 12345 Example, Germany")
    contact: str = _needed("where people reach them about privacy", "privacy@example.org")
    app: str = _needed("the app, as its users call it", "Notes")
    endpoint: str = _needed("where the app sends reports: its endpoint=", "https://telemetry.example.org")
    legal_basis: str = _needed("what allows it; ask a lawyer if in doubt", "your consent, Article 6(1)(a) of the GDPR")
    withdraw: str = _needed("how people turn it off in the app", "run: notes telemetry off")
    retention_days: int = _needed("the collector's setting retention, in days; 0: sums are kept for ever", 400)
    address_log_days: int = _needed(
        "days for which a proxy or host keeps logs with network addresses; 0: no such logs", 0
    )
    backup_days: int = _needed("days for which backups of the collector's database are kept; 0: no backups", 30)

    hosting: str = _optional("", "the company that runs the collector's machine, and where, if that is not you")
    third_country: str = _optional("", "countries outside the EU where the collector is, and what allows the transfer")
    relay: str = _optional("", "who runs the relay, if metrics.toml has [seal]; your own name if you run it")
    officer: str = _optional("", "your data protection officer, with an address")
    authority: str = _optional("", "the supervisory authority, with an address")
    published: str = _optional("", "where the answers are published")
    source: str = _optional("", "where the app's source code is")
    horizon_days: int = _optional(45, "the collector's setting horizon")
    users: int = _optional(0, "about how many people use the app")
    children: bool = _optional(False, "true if the app is meant for children")
    web: bool = _optional(False, "true if the app asks in web pages, with the client in JavaScript")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file; raise ParameterError that names it and the key, or all keys that are missing."""
        try:
            document = tomllib.loads(Path(path).read_text(encoding="utf-8").removeprefix("\ufeff"))
        except OSError as error:
            raise ParameterError(str(path), f"cannot be read: {error.strerror}; --example prints one") from None
        except (ValueError, RecursionError) as error:
            raise ParameterError(str(path), f"not TOML in UTF-8: {error}") from None
        try:
            return cls._read(Fields(document))
        except ParameterError as error:
            raise error.within(f"{path}: ") from None

    @classmethod
    def _read(cls, given: Fields) -> Self:
        given.require_known(one.name for one in fields(cls))
        missing = [one for one in fields(cls) if _is_needed(one) and given.value(one.name) in (None, "")]
        if missing:
            raise ParameterError("still to be filled in", ", ".join(one.name for one in missing))
        given_values: dict[str, Any] = {one.name: _value(one, given) for one in fields(cls) if one.name in given}
        return cls(**given_values)

    def __post_init__(self) -> None:
        Endpoint.parse(self.endpoint)

    @classmethod
    def example(cls) -> str:
        """Return a template of the file, with each key and its meaning."""
        needed = [f'# {_comment(one)}\n{one.name} = ""' for one in _keys(cls)]
        others = [f"{one.name} = {_toml(one.default)}  # {one.metadata['about']}" for one in _keys(cls, needed=False)]
        return "\n".join([_HEAD, *needed, _REST, *others]) + "\n"


def _keys(cls: type[Operator], *, needed: bool = True) -> list[Field[Any]]:
    return [one for one in fields(cls) if _is_needed(one) == needed]


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING


def _comment(one: Field[Any]) -> str:
    about = one.metadata["about"]
    return f"{about[0].upper()}{about[1:]}. For example: {_toml(one.metadata['example'])}"


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _value(one: Field[Any], given: Fields) -> str | int | bool:
    """Return a field's value by its type; numbers are whole, from 0."""
    kind = type(one.metadata["example"] if _is_needed(one) else one.default)
    if kind is str:
        text = given.string(one.name, "")
        if any(not char.isprintable() for char in text):
            raise ParameterError(one.name, "has a line break or a control character; write one line")
        return text.strip()
    if kind is bool:
        return given.truth(one.name, False)
    number = given.value(one.name)
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < _LONGEST:
        number = int(number)  # between the quotes of the example
    if type(number) is not int or not 0 <= number <= 10**10:
        raise ParameterError(one.name, f"{number!r} is not a whole number from 0")
    return number
