"""Files of vectors, and their bytes."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Case = dict[str, object]


@dataclass(frozen=True)
class File:
    """A description of the cases, one of each field, and a function that makes the cases."""

    about: str
    fields: Mapping[str, str]
    cases: Callable[[], Iterable[Case]]


def render(file: File) -> bytes:
    """Return the file: JSON in ASCII, with one case a line."""
    cases = ",\n".join(_line(case) for case in file.cases())
    fields = ",\n".join(f"{_line(name)}: {_line(words)}" for name, words in file.fields.items())
    return f'{{"description": {_line(file.about)},\n"fields": {{\n{fields}\n}},\n"cases": [\n{cases}\n]}}\n'.encode()


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
