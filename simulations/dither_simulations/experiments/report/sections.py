"""The sections of the report: commands, with a title and a comment for each."""

from dataclasses import dataclass

__all__ = ["SECTIONS", "Section"]


@dataclass(frozen=True)
class Section:
    """A command (its words, without the seed and the output), drawn if it can be; ``quick`` replaces options."""

    name: str
    title: str
    text: str
    words: tuple[str, ...]
    drawn: bool = True
    quick: tuple[str, ...] = ("--repeats", "5")

    def command(self, seed: int, quick: bool) -> list[str]:
        """Return the words of the command; an option that is given twice counts as it is given last."""
        return [*self.words, *(self.quick if quick else ()), "--seed", str(seed)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SECTIONS = (
    Section(
        "error",
        "How far is an estimate from the truth?",
        "The mean squared error of a share by what one report may tell. The mechanism that is chosen by itself stays "
        "at the lower bound of all unbiased ones; the simple ones leave it where ε is small or large.",
        _words(
            "error --mechanism auto --mechanism randomized-response --mechanism hadamard-response "
            "--mechanism symmetric-unary -k 1024 -n 1e6 --epsilon 0.25:5:9 --repeats 50"
        ),
    ),
    Section(
        "mechanisms",
        "All mechanisms, few values",
        "With 64 values. The sketches and RAPPOR take any string and pay for it; bit flip sends a part of the bits.",
        _words("error -k 64 -n 1e5 --epsilon 0.25:4:7 --repeats 30"),
    ),
    Section(
        "users",
        "How many users?",
        "Ten times as many users, a tenth of the squared error; the number of values hardly matters to a single share.",
        _words("error --mechanism auto -k 16,128,1024 -n 1e4,1e5,1e6,1e7,1e8 --epsilon 1 --repeats 30"),
    ),
    Section(
        "steps",
        "What consistency buys",
        "Estimates made non-negative, or made to add up to 1, are closer to the truth, and no longer unbiased.",
        _words("error --mechanism auto -k 128 --epsilon 0.25:4:7 --step all --repeats 50"),
    ),
    Section(
        "days",
        "Asking every day",
        "One report a day, while values drift. Without memory each day costs its ε anew; with it the sum is bounded "
        "for who keeps a value, and the error of a day is about that without.",
        _words(
            "error --mechanism optimized-unary --mechanism randomized-response --mechanism subset-selection -k 32 "
            "--epsilon 1 --permanent-epsilon 2 --days 30 --drift 0.02 --repeats 30"
        ),
    ),
    Section(
        "selections",
        "Which of these: sets of items",
        "The share of people who have each of 16 items, of which nobody has more than 3, from one report of the whole "
        "set. To ask of each item by itself at a sixteenth of ε costs twenty times the error and more.",
        _words("error --type selection -k 16 --at-most 3 -n 1e5 --epsilon 0.5:4:7 --repeats 50"),
    ),
    Section(
        "strings",
        "Strings in a list that is brought later",
        "Of 10,000 candidates, of which people hold 1,000: those found, at 5 % false discoveries.",
        _words("error --type string -n 1e6 --epsilon 0.5,1,2,4 --repeats 10"),
        quick=("--repeats", "1", "--epsilon", "1,4"),
    ),
    Section(
        "discovery",
        "Strings that nobody listed",
        "Up to 12 characters of 39, grown level by level and confirmed by other people.",
        _words("error --type string --discover a-z0-9._-/12 -n 1e6 --epsilon 0.5,1,2,4 --repeats 10"),
        quick=("--repeats", "1", "--epsilon", "1,4"),
    ),
    Section(
        "compose",
        "What a year comes to",
        "One question a day at ε = 0.5 and one a week at ε = 1. Losses add up. If a small δ is granted, the least that "
        "is true falls below the sum; advanced composition stays above it for long.",
        _words("compose --part 0.5x365 --part 1x52"),
        quick=(),
    ),
    Section(
        "averaging",
        "Attack: many reports of one value",
        "Whoever holds many reports of one device guesses its value. Permanent draws bound what can ever be guessed.",
        _words("attack averaging"),
        quick=("--repeats", "1", "--devices", "50"),
    ),
    Section(
        "linkage",
        "Attack: two series of uploads",
        "Whoever holds uploads of 500 devices looks for the same ones later. Fresh noise gives nothing to look for; a "
        "wide permanent row is a mark.",
        _words("attack linkage"),
        quick=("--repeats", "1", "--devices", "50", "--reports", "1,7"),
    ),
    Section(
        "change",
        "Attack: the moment of a change",
        "Permanent draws hide the value, and not that it changed.",
        _words("attack change"),
        quick=("--repeats", "1", "--devices", "50", "--reports", "1,7"),
    ),
    Section(
        "poisoning",
        "Attack: forged reports",
        "What one forged report can do is what one support weighs. An honest lie does the same under every mechanism.",
        _words("attack poisoning"),
        quick=("--repeats", "3"),
    ),
    Section(
        "audit",
        "An audit of the installed randomizers",
        "What reports tell, measured by attacks, and never more than is declared: of one report, and of ten by devices "
        "that remember where they can.",
        _words("audit --draws 200000 --reports 1,10 --permanent-epsilon 2"),
        drawn=False,
        quick=("--draws", "10000"),
    ),
    Section(
        "reproduce",
        "Published numbers",
        "Variances and errors that others published, beside those of these mechanisms.",
        _words("reproduce"),
        drawn=False,
        quick=("--repeats", "5"),
    ),
    Section(
        "plan",
        "A survey, planned",
        "A hundred values and 200,000 users: which mechanism, which error, how many users are enough?",
        _words("plan -k 100 --epsilon 1 -n 200000 --error 0.01"),
        drawn=False,
        quick=(),
    ),
)
