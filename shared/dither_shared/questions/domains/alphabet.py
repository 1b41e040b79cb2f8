"""Alphabets as a definition writes them: characters and ranges of them, such as "a-z0-9._-"."""

from itertools import pairwise

from ...errors import ParameterError

MARK = "\N{HORIZONTAL ELLIPSIS}"
"""The placeholder for a character that the alphabet lacks."""

_CAPITALS = {ord("A") + place: ord("a") + place for place in range(26)}

_LONGEST = 4096
_SHORTEST_RANGE = 3


def characters_of(alphabet: str) -> str:
    """Return the characters of an alphabet in the order of their code points.

    A hyphen between two characters makes a range of them; at the beginning or the end it is a character. Raises
    ParameterError for an empty alphabet, a descending range, and a character that cannot be printed or is the mark.
    """
    if not alphabet:
        raise ParameterError("alphabet", 'missing; characters and ranges of them, such as "a-z0-9._-"')
    found: set[str] = set()
    rest = alphabet
    while rest:
        first, last, rest = (
            (rest[0], rest[2], rest[3:]) if rest[1:2] == "-" and rest[2:] else (rest[0], rest[0], rest[1:])
        )
        if ord(first) > ord(last):
            raise ParameterError("alphabet", f"the range {first}-{last} runs backwards; a hyphen goes first or last")
        if ord(last) - ord(first) > _LONGEST:
            raise ParameterError("alphabet", f"the range {first}-{last} is too long")
        found.update(map(chr, range(ord(first), ord(last) + 1)))
    if wrong := sorted(each for each in found if each == MARK or not each.isprintable()):
        raise ParameterError("alphabet", f"{wrong[0]!r} cannot be printed, or is the mark for omitted text")
    return "".join(sorted(found))


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
    return text.translate(_CAPITALS)
