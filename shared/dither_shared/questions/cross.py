"""Questions that cross two others: both answers of a person in one report, to be analysed together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar, NamedTuple, Self

from ..encoding import Answers, Encoded
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..mechanism import MAX_CELLS, Mechanism
from ..mechanisms.sums import costs, within
from ..plain import text_of
from .fields import NAME, Fields
from .listed import BooleanQuestion, ChoiceQuestion, Domain, ListedQuestion

BETWEEN = " / "
"""The separator of the two answers in the label of a cell."""

_AXES = 2

_MOST_NAMES = 16
"""Maximum entries of a dict that is read as an answer; reading a larger one might take long."""

_KINDS: Mapping[str, type[ListedQuestion]] = {kind.kind: kind for kind in (BooleanQuestion, ChoiceQuestion)}

_EXAMPLE = 'for example cross = ["theme", "device"], or {theme = ["light", "dark"], device = ["phone", "desktop"]}'


class Axis(NamedTuple):
    """One of the crossed questions, by its name."""

    name: str
    question: ListedQuestion

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers to it."""
        return self.question.labels


@dataclass(frozen=True)
class CrossQuestion(ListedQuestion):
    """Two questions with listed answers, answered together: the answers are all pairs, the first axis the slowest.

    ``cross`` names two metrics of the same file, or is a table of names and values if an axis is not asked separately.
    An answer is a dict by name, or a pair. A value that an axis does not list goes to its own catch-all; so does an
    axis that is left out, which is a mistake.
    """

    kind: ClassVar[str] = "cross"
    keys: ClassVar[frozenset[str]] = frozenset({"cross"})

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(self.axes) != _AXES:
            raise ParameterError("cross", f"{len(self.axes)} question(s); a cross takes two, {_EXAMPLE}")
        first, second = self.axes
        if first.name == second.name:
            raise ParameterError("cross", f"{first.name!r} is listed twice; two different questions are crossed")
        cells = len(first.labels) * len(second.labels)
        if cells > MAX_CELLS:
            raise ParameterError("cross", f"{cells} pairs of answers; {MAX_CELLS} at most")
        if any("/" in label for axis in self.axes for label in axis.labels) and len({*self._cells()}) < cells:
            raise ParameterError("cross", f"two pairs have the same name; rename an answer with {BETWEEN!r} in it")

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question, whose axes are metrics of the same file or are given with their values."""
        asked = fields.value("cross")
        if isinstance(asked, dict):
            asked = [{**(of if isinstance(of, dict) else {"values": of}), "name": name} for name, of in asked.items()]
        if not isinstance(asked, list):
            raise ParameterError("cross", f"missing or not a list; {_EXAMPLE}")
        return cls(tuple(_axis(fields, one) for one in asked))

    def stored(self) -> dict[str, object]:
        """Return both axes with their answers, so that nothing else is needed."""
        stored = [(axis, axis.question.stored()) for axis in self.axes]
        tables = [{key: table[key] for key in axis.question.keys} for axis, table in stored]
        named = zip(self.axes, tables, strict=True)
        return {"cross": [{"name": axis.name, "type": axis.question.kind, **table} for axis, table in named]}

    @property
    def domain_digest(self) -> object:
        """The names, kinds and answers of the axes, in their order."""
        return {"cross": [[name, question.kind, question.domain_digest] for name, question in self.axes]}

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how pairs are read."""
        return _Answers({axis.name: axis.question.answers(mechanism) for axis in self.axes}, self.shape)

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the axes by their names, each as the question that it is."""
        axes = [[axis.name, axis.question.compiled(mechanism)] for axis in self.axes]
        return {"kind": self.kind, "axes": axes}

    @property
    def shape(self) -> tuple[int, int]:
        """The number of answers on each axis."""
        first, second = self.axes
        return len(first.labels), len(second.labels)

    @property
    def size(self) -> int:
        """The number of pairs of answers."""
        return prod(self.shape)

    @property
    def names(self) -> Sequence[str]:
        """All pairs."""
        return self.domain.labels

    def advice(self, mechanism: Mechanism) -> Sequence[str]:
        """Return advice if each question would be answered more exactly if each device were asked only one of them."""
        return _advice(mechanism, {axis.name: len(axis.labels) for axis in self.axes})

    def shown(self, label: str) -> str:
        """Return both answers as people read them."""
        places = divmod(self.domain.index(label), self.shape[1])
        return BETWEEN.join(
            axis.question.shown(axis.labels[place]) for axis, place in zip(self.axes, places, strict=True)
        )

    def words(self, say: Language = ENGLISH) -> str:
        """Both questions, each with its answers."""
        first, second = (f"{name} ({question.words(say)})" for name, question in self.axes)
        return say("cross.words", first=first, second=second)

    @property
    def example(self) -> object:
        """The first answer to each."""
        return {name: question.example for name, question in self.axes}

    def _listed(self) -> Domain:
        return Domain(self._cells(), BETWEEN.join(axis.question.domain.other for axis in self.axes))

    def _cells(self) -> tuple[str, ...]:
        return tuple(BETWEEN.join(pair) for pair in product(*(axis.labels for axis in self.axes)))


class _Answers(Answers):
    wanted = (
        'give a dict of both answers by name, such as {"theme": "dark", "device": "phone"}, or a pair of them, '
        "each a string, a number or a boolean"
    )

    def __init__(self, axes: Mapping[str, Answers], shape: tuple[int, int]) -> None:
        self._axes = tuple(axes.values())
        self._places = {name: place for place, name in enumerate(axes)}
        self._width = shape[1]

    def encode(self, value: object) -> Encoded:
        """Return the pair of items of both axes; an answer that is missing is a mistake."""
        given, mistake = self._given(value)
        parts = [axis.encode(one) for axis, one in zip(self._axes, given, strict=True)]
        first, second = (part.item for part in parts)
        return Encoded(
            first * self._width + second,  # type: ignore[operator]  # items of listed answers are integers
            any(part.outside for part in parts),
            mistake or any(part.mistake for part in parts),
        )

    def _given(self, value: object) -> tuple[Sequence[object], bool]:
        """Return the answer on each axis, and whether the object is something other than a pair.

        As in ``plain``, no code of the app is run: the content of a dict, list or tuple is read by Python's own
        methods.
        """
        kind, given, mistake = type(value), [_LEFT_OUT] * _AXES, False
        if issubclass(kind, dict) and dict.__len__(value) <= _MOST_NAMES:  # type: ignore[arg-type]  # it is one
            for name, answer in list(dict.items(value)):  # type: ignore[arg-type, var-annotated]  # likewise
                place = self._places.get(text_of(name) or "")
                if place is None:
                    mistake = True
                else:
                    given[place] = answer
            return given, mistake
        for row in (tuple, list):
            if issubclass(kind, row) and row.__len__(value) == _AXES:  # type: ignore[arg-type]  # likewise
                return tuple(row.__iter__(value)), False  # type: ignore[arg-type]  # likewise
        return given, True


_LEFT_OUT: object = object()
"""Stands for the answer on an axis that has none; no axis lists it."""


def _axis(fields: Fields, asked: object) -> Axis:
    """Return an axis: a metric of the same file, or a table of its name, its values and optionally its type."""
    if isinstance(asked, dict):
        table: Fields | None = Fields({"type": ChoiceQuestion.kind, **asked})
        name = asked.get("name")
    else:
        name, table = asked, fields.sibling(asked)
    if not isinstance(name, str) or not name or table is None:
        raise ParameterError("cross", f"{name!r} is not a metric of this file; {_EXAMPLE}")
    if not NAME.fullmatch(name):
        raise ParameterError("cross", f"{name!r:.80} is not a name; it must start with a-z; then a-z, 0-9, '_'")
    if table.value("type") not in _KINDS:
        raise ParameterError("cross", f"{name} is not a {' or '.join(_KINDS)}; only these can be crossed")
    try:
        kind = _KINDS[table.one_of("type", tuple(_KINDS))]
        if isinstance(asked, dict):
            table.require_known({"name", "type", *kind.keys})
        return Axis(name, kind.read(table))
    except ParameterError as error:
        raise error.within(f"cross.{name}.") from None


def _advice(mechanism: Mechanism, sizes: Mapping[str, int]) -> list[str]:
    """Return a sentence if asking each person one of the two questions, with these numbers of answers, is better."""
    (first, a), (second, b) = sizes.items()
    pairs = costs(mechanism, a, b), costs(mechanism, b, a)
    fewer = [crossed / sampled for crossed, sampled in filter(None, pairs)]
    apart = within(mechanism, a, b), within(mechanism, b, a)
    if len(fewer) < 2 or max(fewer) <= 1:
        return []
    public = max(one for one in apart if one is not None)
    return [
        f"cross: {a * b} pairs of answers need many reports at this epsilon; unless {first} and {second} are needed "
        f"together, ask each device only one of them (one_of): equally precise shares then take {_people(fewer[0])} "
        f"people "
        f"for {first} and {_people(fewer[1])} for {second}. If one of the two is not secret, declare it as strata of "
        f"the other: shares within it take up to {public:.2g} times fewer people"
    ]


def _people(factor: float) -> str:
    return f"{factor:.2g} times fewer" if factor > 1 else f"{1 / factor:.2g} times as many"
