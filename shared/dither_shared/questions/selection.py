"""Questions about which of the listed values apply: any set of them is an answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ..encoding import Answers, Encoded
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..mechanism import SETS, Items, Mechanism
from ..mechanisms import MECHANISMS
from ..mechanisms.auto import choose
from ..mechanisms.checks import checked_count
from ..plain import members, plain, text_of
from ..primitives.probability import MIN_EPSILON
from ..privacy.wording import set_odds_sentence, support_words
from ..wire import Report
from .fields import Fields
from .question import Question

_FEW = 3
"""The number of values that people are assumed to choose of many, for advice on a limit."""

_WORTH = 1.5
"""Advise a limit if asking without one takes at least this many times as many users."""

_TOLD = 10
"""Maximum number of values listed in a sentence."""


@dataclass(frozen=True)
class SelectionQuestion(Question):
    """A question whose answer is any set of ``values``; the item is a bit mask with bit j for value j.

    A value that is not listed is left out. If there are more than ``at_most``, the first ones count, in
    the given order. Anything but a collection of values is a mistake, and counts as the empty set. Raises
    ParameterError for fewer than two values, one listed twice, or an ``at_most`` outside the possible range.
    """

    kind: ClassVar[str] = "selection"
    keys: ClassVar[frozenset[str]] = frozenset({"values", "at_most"})
    items: ClassVar[Items] = SETS

    values: tuple[str, ...]
    at_most: int | None = None

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ParameterError("values", f"{len(self.values)} value(s); a selection needs at least 2")
        if len(set(self.values)) < len(self.values):
            twice = next(value for place, value in enumerate(self.values) if value in self.values[:place])
            raise ParameterError("values", f"{twice!r} is listed twice")
        if self.at_most is not None:
            checked_count(self.at_most, "at_most", 1, len(self.values))

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question of ``values`` and ``at_most``."""
        values = fields.strings("values")
        if "at_most" not in fields:
            return cls(values)
        return cls(values, checked_count(fields.number("at_most"), "at_most", 1, len(values)))

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism] | None:
        """Return the set response if a window is given; otherwise None, for the best mechanism."""
        return MECHANISMS["set-response"] if "window" in fields else None

    @property
    def limit(self) -> int | None:
        """The maximum number of values per answer, if it is below the number of values."""
        return None if self.at_most == len(self.values) else self.at_most

    @property
    def promises(self) -> Mapping[str, int]:
        """The limit, if there is one."""
        return {} if self.limit is None else {"at_most": self.limit}

    def stored(self) -> dict[str, object]:
        """Return the values, and the maximum number of them."""
        return {"values": list(self.values), "at_most": self.at_most}

    @property
    def domain_digest(self) -> object:
        """The values, and the limit."""
        return {"values": list(self.values), "at_most": self.limit}

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how selections are read."""
        return _Answers(self.values, self.limit)

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the values, and the limit."""
        return {"kind": self.kind, "values": [*self.values], "at_most": self.limit}

    @property
    def size(self) -> int:
        """The number of listed values."""
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """All values."""
        return self.values

    def odds(self, mechanism: Mechanism, names: tuple[str, str] | None = None, say: Language = ENGLISH) -> str:
        """Return the odds that a report gives about one value, and about anything concerning all of them."""
        return set_odds_sentence(mechanism, say)

    def reading(self, mechanism: Mechanism, report: Report, say: Language = ENGLISH) -> str:
        """Return the values that a report names among those that it covers, and how often each is wrong."""
        cells = set(report.cells(mechanism))
        speaking = {value: mechanism.supporting(place, report.cohort) for place, value in enumerate(self.values)}
        named = [value for value, supporting in speaking.items() if cells & set(supporting)]
        often = support_words(mechanism, say)
        if mechanism.coverage == 1:
            return say("set.reads", named=_listed(named, say), often=often)
        spoken = [value for value, supporting in speaking.items() if supporting]
        return say("set.reads.part", spoken=_listed(spoken, say), named=_listed(named, say), often=often)

    def advice(self, mechanism: Mechanism) -> Sequence[str]:
        """Return how much a limit would help, if none is set."""
        few = min(_FEW, len(self.values) // 4)
        if self.at_most is not None or not few:
            return ()
        epsilon = max(mechanism.epsilon, MIN_EPSILON)  # because it was rounded down
        limited = choose(self.size, epsilon, items=SETS, promises={"at_most": few})
        share = few / self.size
        needed = _spread(limited, share) / _spread(mechanism, share)
        if needed * _WORTH > 1:
            return ()
        return (
            f"at_most: missing; if nobody needs to choose more than {few}, at_most = {few} needs only "
            f"{100 * needed:.0f} % of the users for the same precision; if all may be chosen, set at_most = "
            f"{self.size}",
        )

    def words(self, say: Language = ENGLISH) -> str:
        """Return the values, and how many may be chosen, in words."""
        values = ", ".join(self.values)
        return (
            say("set.words", values=values)
            if self.limit is None
            else say("set.words.limit", limit=self.limit, values=values)
        )

    @property
    def example(self) -> object:
        """Only the first value."""
        return [self.values[0]]


class _Answers(Answers):
    wanted = 'give a list, a tuple or a set of strings or numbers, such as ["export", "search"]; [] if none applies'

    def __init__(self, values: tuple[str, ...], at_most: int | None) -> None:
        self._places = {value: place for place, value in enumerate(values)}
        self._most = len(values) if at_most is None else at_most

    def encode(self, value: object) -> Encoded:
        """Return the set of the given values that are listed; the first ones if there are too many.

        A text is a mistake, because the app may intend to give the others later; but it is reported as a set of one.
        """
        given = members(value)
        if given is None:
            text = plain(value)
            item = self._item([text]) if isinstance(text, str) else Encoded(0, outside=True)
            return item._replace(mistake=True)
        return self._item(given, ordered=not issubclass(type(value), set | frozenset))

    def _item(self, given: Iterable[object], *, ordered: bool = True) -> Encoded:
        """Return the set of these values; one that is not a text, number or boolean is a mistake, and left out."""
        texts = [text_of(each) for each in given]
        known = dict.fromkeys(self._places[text] for text in texts if text in self._places)
        # sets of the same values must give the same answer every time
        chosen = list(known) if ordered else sorted(known)
        return Encoded(
            sum(1 << place for place in chosen[: self._most]),
            outside=len(chosen) > self._most or any(text not in self._places for text in texts),
            mistake=None in texts,
        )


def _spread(mechanism: Mechanism, share: float) -> float:
    """Return n · Var of the estimate of a value that this share of people has: from noise, and from sampling.

    If everyone chooses w of d values, and each equally often, it is that of all values at w/d.
    """
    return mechanism.variance(share) + share * (1 - share)


def _listed(values: Sequence[str], say: Language) -> str:
    """Return some values in words."""
    if len(values) > _TOLD:
        return say("list.more", values=", ".join(values[:_TOLD]), count=len(values) - _TOLD)
    if len(values) < 2:
        return values[0] if values else say("list.none")
    return say("list.and", values=", ".join(values[:-1]), last=values[-1])
