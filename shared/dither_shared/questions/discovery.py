"""Questions whose answers are strings over a declared alphabet, to find strings that nobody listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

from ..encoding import Answers, Encoded
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..light import cached_property
from ..mechanism import SPELLED, Items, Mechanism
from ..mechanisms import MECHANISMS
from ..mechanisms.checks import checked_count
from ..mechanisms.prefix_levels import LONGEST, MOST_CHARACTERS, prefix_lengths
from ..plain import text_of
from ..privacy.wording import fit_words, odds_sentence
from ..wire import Report
from .fields import Fields
from .question import Question

if TYPE_CHECKING:
    from ..mechanisms.prefix_sketch import PrefixSketch


MARK = "\N{HORIZONTAL ELLIPSIS}"
"""The placeholder for a character that the alphabet lacks."""

_SMALL = {ord("A") + place: ord("a") + place for place in range(26)}

_LONGEST_RANGE = 4096
_SHORTEST_RANGE = 3

_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_USERS, _HOPELESS = 1_000_000, 0.03
"""For advice: a text with this share should be found among this number of users."""

END = 0
"""The symbol that ends a string, repeated to fill its length."""


@dataclass(frozen=True)
class DiscoveryQuestion(Question):
    """Any text of up to ``length`` of the characters of ``alphabet``, such as "a-z0-9._-"; nobody lists the texts.

    An item has a byte for each of ``length`` symbols. Character i of the alphabet, in the order of code points, is i +
    1; 0 is the end of a text, and fills the rest; the number above the last character's is the mark "…". A longer text
    is cut, and the mark replaces its last symbol. A text with a character outside the alphabet, among those that would
    be reported, is the mark alone. Both are reported as outside. With ``fold`` A to Z count as a to z.

    Raises ParameterError for an alphabet that cannot be read, and for a length that would take too many levels.
    """

    kind: ClassVar[str] = "discovery"
    keys: ClassVar[frozenset[str]] = frozenset({"discover", "candidates"})
    items: ClassVar[Items] = SPELLED

    alphabet: str
    length: int
    fold: bool | None = None

    def __post_init__(self) -> None:
        characters = characters_of(self.alphabet)
        if len(characters) > MOST_CHARACTERS:
            raise ParameterError("alphabet", f"{len(characters)} characters; at most {MOST_CHARACTERS}")
        prefix_lengths(len(characters), checked_count(self.length, "length", 1, LONGEST))
        if self.fold and folded(characters) != characters:
            raise ParameterError("fold", "A to Z would count as a to z, but the alphabet has some of A to Z")
        # canonical: only one way to write the same question
        object.__setattr__(self, "alphabet", canonical(characters))

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Parse the table ``discover`` of a definition, and return its question."""
        if "candidates" in fields:
            raise ParameterError(
                "discover",
                "cannot be given together with candidates; if the strings can be listed, a list without discover "
                "needs fewer reports",
            )
        table = fields.table("discover", '{alphabet = "a-z0-9._-", length = 12}')
        try:
            table.require_known({"alphabet", "length", "fold"})
            length = checked_count(table.number("length"), "length", 1, LONGEST)
            return cls(table.string("alphabet", ""), length, table.truth("fold", False) if "fold" in table else None)
        except ParameterError as error:
            raise error.within("discover.") from None

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism]:  # noqa: ARG003 - other kinds look
        """Return the prefix sketch."""
        return MECHANISMS["prefix-sketch"]

    @cached_property
    def characters(self) -> str:
        """The alphabet, in the order of code points."""
        return characters_of(self.alphabet)

    @property
    def symbols(self) -> bytes:
        """The symbols of the characters."""
        return bytes(range(1, len(self.characters) + 1))

    @property
    def ends(self) -> bytes:
        """The symbols that only ``END`` can follow: itself, and the mark."""
        return bytes((END, len(self.characters) + 1))

    @property
    def promises(self) -> Mapping[str, int]:
        """The number of characters, and the maximum length of a text."""
        return {"characters": len(self.characters), "length": self.length}

    def text(self, item: bytes) -> str:
        """Return the text of an item or of a prefix; with the mark if the text was cut or is the mark."""
        return "".join((self.characters + MARK)[symbol - 1] for symbol in item if symbol != END)

    def stored(self) -> dict[str, object]:
        """Return the table; there are no candidates."""
        fold = {} if self.fold is None else {"fold": self.fold}
        return {"discover": {"alphabet": self.alphabet, "length": self.length, **fold}, "candidates": []}

    @property
    def domain_digest(self) -> object:
        """The characters, the length, and whether capitals are folded."""
        return {"characters": self.characters, "length": self.length, "fold": bool(self.fold)}

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how texts become symbols."""
        return _Answers(self.characters, self.length, fold=bool(self.fold))

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the characters in the order of their symbols, the length, and whether capitals are folded."""
        return {"kind": self.kind, "characters": self.characters, "length": self.length, "fold": bool(self.fold)}

    def odds(self, mechanism: Mechanism, names: tuple[str, str] | None = None, say: Language = ENGLISH) -> str:
        """Return what a report says about the text, and how sure it can make anyone."""
        return say("discovery.odds", sentence=odds_sentence(mechanism, names, say))

    def reading(self, mechanism: Mechanism, report: Report, say: Language = ENGLISH) -> str:
        """Return the part of the text that a report covers, how often it fits that part, and how often another."""
        report.cells(mechanism)
        length = _sketch(mechanism).prefix_length(report.cohort)
        fit = fit_words(mechanism, say)
        whole = length == self.length
        return say("discovery.reads.all", fit=fit) if whole else say("discovery.reads.part", length=length, fit=fit)

    def advice(self, mechanism: Mechanism) -> Sequence[str]:
        """Return advice on capitals, if the definition is silent on them, and on texts that cannot be found."""
        advice = []
        if self.fold is None and folded(_CAPITALS) in self.characters and not set(_CAPITALS) & set(self.characters):
            advice.append(
                "discover.fold: missing; the alphabet has no capitals, and a text with one would not be found; set "
                "true to count A to Z as a to z, or false to keep them distinct"
            )
        share = _sketch(mechanism).least_share(_USERS)
        if share > _HOPELESS:
            advice.append(
                f"discover.length: of {_USERS:,} users {100 * share:.2g} % must have a text for it to be found; a "
                f"shorter length or a smaller alphabet finds rarer ones, and so does a list of candidates"
            )
        return advice

    def words(self, say: Language = ENGLISH) -> str:
        """Return the accepted texts, in words."""
        key = "discovery.words.fold" if self.fold else "discovery.words"
        return say(key, length=self.length, alphabet=self.alphabet)

    @property
    def example(self) -> object:
        """No text."""
        return ""


def _sketch(mechanism: Mechanism) -> "PrefixSketch":
    from ..mechanisms.prefix_sketch import PrefixSketch  # noqa: PLC0415 - only users of such a question load it

    return PrefixSketch.require(mechanism, "mechanism")


class _Answers(Answers):
    def __init__(self, characters: str, length: int, *, fold: bool) -> None:
        self._symbols = {character: place for place, character in enumerate(characters, 1)}
        self._length, self._fold = length, fold
        self._mark = len(characters) + 1
        other = bytes((self._mark,)).ljust(length, bytes((END,)))
        self._other = Encoded(other, outside=True)
        self._mistake = Encoded(other, outside=True, mistake=True)

    def encode(self, value: object) -> Encoded:
        """Return the symbols of the text, or the mark alone."""
        text = value if type(value) is str else text_of(value)
        if text is None:
            return self._mistake
        cut = len(text) > self._length
        reported = text[: self._length - 1] if cut else text
        symbols = [self._symbols.get(each, END) for each in (folded(reported) if self._fold else reported)]
        if END in symbols:
            return self._other
        item = bytes([*symbols, self._mark] if cut else symbols)
        return Encoded(item.ljust(self._length, bytes((END,))), outside=cut)


def characters_of(alphabet: str) -> str:
    """Return the characters of an alphabet in the order of their code points.

    A hyphen between two characters makes a range of them; at the beginning or the end it is a character. Raises
    ParameterError for an empty alphabet, a descending range, and a character that cannot be printed or is the mark.
    """
    if not alphabet:
        raise ParameterError("alphabet", 'missing; characters and ranges of them, such as "a-z0-9._-"')
    characters: set[str] = set()
    rest = alphabet
    while rest:
        first, last, rest = (
            (rest[0], rest[2], rest[3:]) if rest[1:2] == "-" and rest[2:] else (rest[0], rest[0], rest[1:])
        )
        if ord(first) > ord(last):
            raise ParameterError("alphabet", f"the range {first}-{last} runs backwards; a hyphen goes first or last")
        if ord(last) - ord(first) > _LONGEST_RANGE:
            raise ParameterError("alphabet", f"the range {first}-{last} is too long")
        characters.update(map(chr, range(ord(first), ord(last) + 1)))
    if wrong := sorted(each for each in characters if each == MARK or not each.isprintable()):
        raise ParameterError("alphabet", f"{wrong[0]!r} cannot be printed, or is the mark for omitted text")
    return "".join(sorted(characters))


def canonical(characters: str) -> str:
    """Return the alphabet of these characters, in order: the hyphen first, then ranges of three and more."""
    rest = characters.replace("-", "")
    runs = [rest[:1]]
    for one, two in pairwise(rest):
        if ord(two) == ord(one) + 1:
            runs[-1] += two
        else:
            runs.append(two)
    written = [f"{run[0]}-{run[-1]}" if len(run) >= _SHORTEST_RANGE else run for run in runs]
    return "-" * ("-" in characters) + "".join(written)


def folded(text: str) -> str:
    """Return the text with A to Z replaced by a to z, and no other change: all programs agree on these."""
    return text.translate(_SMALL)
