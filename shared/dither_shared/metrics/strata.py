"""Strata: declared attributes that are not secret, such as the platform. They are sent in the clear, beside a report.

    strata = {platform = ["linux", "windows", "macos"], channel = ["stable", "beta"]}

A value that is not listed goes to "other". A cell is one value of each attribute; its label joins them: "linux/beta".
"""

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple, Self

from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..light import cached_property
from ..plain import text_of
from ..questions.fields import Fields
from ..wire import LONGEST_STRATUM, OTHER

MOST_CELLS = 16
"""Maximum number of cells of a metric: each has its own reports, errors and anonymity set."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TAKEN = re.compile(
    # arguments of the client's functions and methods, parameters of the API's URLs, and its columns
    "self|metric|value|ok|failed|"
    "at|by|by_day|change|confidence|distinct|find|forged|format|limit|name|offset|other|other_[a-z0-9_]*|page|quantile|"
    "same_question|simultaneous|since|step|tier|token|top|until|values|version|weighted|"
    "consistent|count|day|estimate|found|frequency|gain_down|gain_up|high|low|noise_error|noise_high|noise_low|"
    "reports|standard_error|statistic|strata|stratum|unit|verdict|weighted_error|weighted_high|weighted_low|"
    "both|both_error|both_high|both_low|cell|cells|cross|discover|first|given|pair|pairs|part|prefix|second|share"
)
"""Names that no attribute may have, because answers have columns of these names."""

_VALUE = re.compile(r'(?! )[^\x00-\x1f\x7f-\x9f\ud800-\udfff/\[\]{}"\\]{1,32}(?<! )')
"""Slashes separate the values in a label, and without the other excluded characters a batch is read quickly."""


class Attribute(NamedTuple):
    """An attribute, and the values that it may have; "other" is one of them."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Strata:
    """The attributes of a metric, in an order that its version and its cells depend on.

    "other" is appended to the values of each attribute that does not list it. Raises ParameterError at "strata", or at
    "strata.NAME" for a mistake in one attribute.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        attributes = tuple(_attribute(name, values) for name, values in self.attributes)
        if not attributes:
            raise ParameterError("strata", 'empty; name an attribute, such as platform = ["linux", "windows"]')
        names = [one.name for one in attributes]
        if len(set(names)) < len(names):
            raise ParameterError("strata", "an attribute is named twice")
        cells = prod(len(one.values) for one in attributes)
        if cells > MOST_CELLS:
            product = " x ".join(str(len(one.values)) for one in attributes)
            what = f"{product} = {cells} cells" if len(attributes) > 1 else f"{cells} values"
            raise ParameterError("strata", f'{what}, "{OTHER}" included; at most {MOST_CELLS}: list fewer values')
        if (longest := sum(max(map(len, one.values)) + 1 for one in attributes) - 1) > LONGEST_STRATUM:
            raise ParameterError(
                "strata", f"its longest label has {longest} characters; at most {LONGEST_STRATUM}: shorten the values"
            )
        object.__setattr__(self, "attributes", attributes)

    @classmethod
    def read(cls, table: object) -> Self:
        """Return the strata of a definition: a table of names and lists of values."""
        if not isinstance(table, Mapping):
            raise ParameterError("strata", f'{table!r} is not a table such as {{platform = ["linux", "windows"]}}')
        try:
            fields = Fields(table)
            listed = {name: fields.strings(name) for name in table}
        except ParameterError as error:
            raise error.within("strata.") from None
        return cls.of(listed.items())

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, Iterable[str]]]) -> Self:
        """Return the strata of pairs of a name and its values, as ``stored`` writes them."""
        return cls(tuple(Attribute(name, tuple(values)) for name, values in pairs))

    def stored(self) -> list[list[object]]:
        """Return them as JSON, which ``of`` reads again: pairs of a name and its values, in order."""
        return [[name, list(values)] for name, values in self.attributes]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(one.name for one in self.attributes)

    @cached_property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The value of each attribute in each cell, the first attribute slowest."""
        return tuple(product(*(one.values for one in self.attributes)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each cell, such as "linux/beta"."""
        return tuple(map("/".join, self.cells))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def index(self, label: str) -> int | None:
        """Return the index of a label's cell, or None if there is no such cell."""
        return self._index.get(label)

    def label_of(self, given: Mapping[str, object]) -> str:
        """Return the label of the cell for the attributes ``given``; never raises.

        A value counts by its text (``plain.text_of``). One that is not listed, or not given, is "other".
        """
        return "/".join([_listed(one, given) or OTHER for one in self.attributes])

    def outside(self, given: Mapping[str, object]) -> tuple[str, ...]:
        """Return the attributes for which ``given`` has no listed value, so that ``label_of`` says "other"."""
        return tuple(one.name for one in self.attributes if _listed(one, given) is None)

    def places(self, chosen: Mapping[str, str]) -> tuple[int, ...]:
        """Return the indices of the cells whose attributes have the values ``chosen``; all cells if nothing is chosen.

        Raises ParameterError, whose place is the attribute's name, if there is no such attribute or value.
        """
        listed = dict(self.attributes)
        for name, value in chosen.items():
            if name not in listed:
                raise ParameterError(name, f"not an attribute; known here: {', '.join(self.names)}")
            if value not in listed[name]:
                raise ParameterError(name, f"{value!r} is not one of {', '.join(listed[name])}")
        wanted = [chosen.get(name) for name in self.names]
        return tuple(
            place
            for place, cell in enumerate(self.cells)
            if all(want in (None, value) for want, value in zip(wanted, cell, strict=True))
        )

    @property
    def example(self) -> dict[str, str]:
        """The first value of each attribute."""
        return {name: values[0] for name, values in self.attributes}

    def described(self, label: str) -> str:
        """Return a label in words: "platform linux, channel beta"."""
        return ", ".join(map(" ".join, zip(self.names, label.split("/"), strict=False)))

    def words(self, say: Language = ENGLISH) -> str:
        """Return the attributes in words: "platform (linux, windows, macos or other)"."""
        return ", ".join(
            f"{name} ({say('list.or', values=', '.join(values[:-1]), last=values[-1])})"
            for name, values in self.attributes
        )


def _attribute(name: str, values: Iterable[str]) -> Attribute:
    place = f"strata.{name}"
    if not _NAME.fullmatch(name):
        raise ParameterError(place, "not a name; names start with a-z and continue with a-z, 0-9 or '_', up to 32")
    if _TAKEN.fullmatch(name) or keyword.iskeyword(name):
        raise ParameterError(place, f"is a reserved name; call it app_{name}, for example")
    values = tuple(values)
    for value in values:
        if not (_VALUE.fullmatch(value) and value.isprintable()):
            raise ParameterError(
                place,
                f'{value!r:.80} is not a value; 1 to 32 printable characters, none of / [ ] {{ }} " \\,'
                " and no blank at an end",
            )
    seen = Counter(values)  # check the length first: a list may be long
    if len(seen) < len(values):
        raise ParameterError(place, f"{seen.most_common(1)[0][0]!r} is listed twice")
    if not set(values) - {OTHER}:
        raise ParameterError(place, f'lists only "{OTHER}"; give a list of values such as ["linux", "windows"]')
    return Attribute(name, values if OTHER in values else (*values, OTHER))


def _listed(attribute: Attribute, given: Mapping[str, object]) -> str | None:
    value = given.get(attribute.name)
    text = value if type(value) is str else text_of(value)
    return text if text in attribute.values else None
