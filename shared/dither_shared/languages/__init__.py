"""The sentences that people are shown, in languages: one catalogue for each, of which the client in JavaScript gets a part.

A catalogue maps identifiers to templates, in which names in braces stand for what is filled in: numbers, answers, other
sentences. All catalogues have the same identifiers, and each template the same names, so that no language leaves a number
out. An app may pass texts of its own, over one of these catalogues or complete:

    Client(..., language="de")
    Client(..., language={"language": "de", "metrics.theme.description": "Welches Farbschema nutzen Sie?"})

Numbers are computed once and filled in; only their marks are those of the language.
"""

from __future__ import annotations

import re

from ..errors import ParameterError, did_you_mean
from ..light import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"\{(\w*)\}")
_OF_A_METRIC = re.compile(r"metrics\.[a-z][a-z0-9_.-]*\.(description|why|owner)")
"""Texts of the app's own definitions, which an app may translate."""

BASE = "language"
"""The key of an app's own texts that names the catalogue which they change; without it they must be complete."""


def _catalogue(code: str) -> tuple[Mapping[str, str], bool]:
    """Return the texts of a language, and whether somebody who speaks it has reviewed them."""
    if code == "en":
        from . import en  # noqa: PLC0415 - only who reads it loads a language

        return en.TEXTS, en.REVIEWED
    from . import de  # noqa: PLC0415 - likewise

    return de.TEXTS, de.REVIEWED


LANGUAGES = ("en", "de")


class Language:
    """Sentences in one language, by their identifiers. Its texts are loaded when the first is asked for."""

    def __init__(self, code: str = "en", own: Mapping[str, str] | None = None) -> None:
        self.code = code
        self._own = own or {}

    def __repr__(self) -> str:
        return f"Language({self.code!r})"

    @classmethod
    def of(cls, given: object) -> Language:
        """Return a language by its code, or that of an app's own texts.

        Raises ParameterError for an unknown code or identifier, a text without one of its names, and missing texts.
        """
        if isinstance(given, Language):
            return given
        if isinstance(given, str):
            if given not in LANGUAGES:
                raise ParameterError("language", f"{given!r:.80} is not one of {', '.join(LANGUAGES)}")
            return cls(given)
        if not hasattr(given, "items"):
            raise ParameterError("language", "neither a language's code, such as de, nor texts by their identifiers")
        own = dict(given.items())
        base = own.pop(BASE, None)
        if base is not None and base not in LANGUAGES:
            raise ParameterError(f"language.{BASE}", f"{base!r:.80} is not one of {', '.join(LANGUAGES)}")
        english, _ = _catalogue("en")
        for key, text in own.items():
            _check(key, text, english)
        if base is None and (missing := sorted(english.keys() - own)):
            few = ", ".join(missing[:5])
            advice = f"or name the catalogue that they change: {BASE} = 'en'"
            raise ParameterError("language", f"{len(missing)} texts are missing: {few}, …; {advice}")
        return cls(base or "en", own)

    def load(self) -> None:
        """Import the catalogues now: its own, and English, which ``again`` reads."""
        for code in ("en", self.code):
            _catalogue(code)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """All texts, by their identifiers."""
        return {**_catalogue(self.code)[0], **self._own}

    @property
    def reviewed(self) -> bool:
        """Whether somebody who speaks the language has reviewed its catalogue."""
        return _catalogue(self.code)[1]

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the sentence ``key`` with ``values`` filled in; numbers get the marks of the language."""
        return self.texts[key].format(
            **{name: self.number(value) if isinstance(value, int | float) else value for name, value in values.items()}
        )

    def count(self, key: str, number: int, /, **values: object) -> str:
        """Return the sentence of a number of things: that of one, or that of many."""
        return self(f"{key}.{'one' if number == 1 else 'many'}", count=self.number(f"{number:,}"), **values)

    def number(self, value: object) -> str:
        """Return a number, or what Python wrote for one, with the marks of the language."""
        text = str(value)
        swapped = {",": self.texts["mark.thousands"], ".": self.texts["mark.decimal"]}
        return "".join(swapped.get(each, each) for each in text)

    def own(self, metric: str, key: str, text: str) -> str:
        """Return a text of the app's definition of a metric, translated if the app has translated it."""
        return self.texts.get(f"metrics.{metric}.{key}", text)

    def again(self, prefix: str, text: str) -> str:
        """Return in this language what the English template of an identifier with this prefix has said.

        For words that programs compare, such as what decided a mode, and that are therefore kept in English.
        """
        for key, template in _catalogue("en")[0].items():
            if key.startswith(prefix) and (found := _pattern(template).fullmatch(text)):
                return self(key, **{name: self.again(prefix, value) for name, value in found.groupdict().items()})
        return text


def _pattern(template: str) -> re.Pattern[str]:
    parts = _NAME.split(template)
    return re.compile("".join(f"(?P<{part}>.+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)))


def _check(key: object, text: object, english: Mapping[str, str]) -> None:
    """Raise ParameterError unless an app's own text stands for a known one, and has its names and no others."""
    if not isinstance(key, str) or not isinstance(text, str):
        raise ParameterError("language", "an identifier and its text must be strings")
    place = f"language.{key:.80}"
    if _OF_A_METRIC.fullmatch(key):
        return
    if key not in english:
        raise ParameterError(place, f"unknown{did_you_mean(key, english)}")
    wanted, found = set(_NAME.findall(english[key])), set(_NAME.findall(text))
    if found != wanted or _NAME.sub("", text) != _NAME.sub("", text).replace("{", "").replace("}", ""):
        names = ", ".join(f"{{{name}}}" for name in sorted(wanted)) or "no names in braces"
        raise ParameterError(place, f"its text must contain {names}, and no other braces")


ENGLISH = Language()
"""The language in which everything is written first."""
