"""Read a page's code blocks, and what the comments above them say of how they are run.

Of a page of Markdown these comments, each alone on its lines above a block, mean something:

- ``<!-- output -->``: this ``text`` is what the block before it prints;
- ``<!-- output: why -->``: so it is, but its fractions are others each time;
- ``<!-- not run: why -->``: only look whether the block can be parsed;
- ``<!-- status: 1 -->``: the block ends with this exit status, and the page goes on;
- ``<!-- stop -->``: the reader has stopped all servers by now (``stop: 8000``: the one of that port);
- ``<!-- needs: psql -->``: without this program the page ends here.
"""

import configparser
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import yaml

from dither_shared import parse_metrics

LANGUAGES = {
    *("sh", "python", "toml", "json", "yaml", "ini", "js", "html", "css", "sql", "nginx", "text"),
    *("diff", "dockerfile", "http", "caddyfile", "xml"),
}
"""The languages of blocks: ``sh`` and ``python`` are run, ``toml``, ``json``, ``yaml`` and ``ini`` must parse."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[^`]*)$")
_COMMENT = re.compile(
    r"<!--\s*(?:(?P<word>output|not run|status|stop|needs)\b\s*(?P<colon>:?)\s*)(?P<value>.*?)\s*-->", re.DOTALL
)
_COMMENTED = re.compile(r"(?:#|//|--|;) *(\S+)|<!-- *(\S+) *-->|/\* *(\S+) *\*/")
_FILE = re.compile(r"(?:[\w.@-]+/)*(?:[\w.@-]*\.[A-Za-z]\w*|Dockerfile|Makefile|Caddyfile)")


class PageError(ValueError):
    """A page cannot be run as it is written; the text names the line."""


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and how it is run."""

    language: str
    text: str
    line: int
    """The line of its fence, from 1."""
    not_run: str = ""
    """Why it is not run; "" if it is."""
    status: int = 0
    """The exit status that it must end with."""
    stops: tuple[str, ...] = ()
    """The ports whose servers end before it; "" for all of them."""
    needs: tuple[str, ...] = ()
    """Programs without which the page ends above it."""
    is_output: bool = False
    varies: str = ""
    """Why the fractions of this output are others each time; "" if they are not."""
    output: "Block | None" = field(default=None)
    """What it prints."""

    @property
    def name(self) -> str:
        """The file that it is written to; "" if it is none."""
        match = _COMMENTED.fullmatch(self.text.partition("\n")[0].rstrip())
        name = next(filter(None, match.groups())) if match else ""
        return name if _FILE.fullmatch(name) else ""

    @property
    def runs(self) -> bool:
        """Whether it is a program that is run."""
        return self.language in {"sh", "python"} and not self.name and not self.not_run


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page's text in order, each with its output. Raise PageError for what means nothing."""
    found: list[Block] = []
    last_end = 0
    lines = page.splitlines()
    for block, begin, end in _fenced(lines):
        described = _described(block, "\n".join(lines[last_end:begin]))
        last_end = end + 1
        if not described.is_output:
            found.append(described)
        elif not found or not found[-1].runs or found[-1].output or described.language != "text":
            raise PageError(
                f"line {described.line}: an output is a text block directly below the sh or python block that prints it"
            )
        else:
            found[-1] = replace(found[-1], output=described)
    return found


def _fenced(lines: list[str]) -> Iterator[tuple[Block, int, int]]:
    """Yield each block with the indices of its two fences; directives of MyST (``{name}``) are passed over."""
    place = 0
    while place < len(lines):
        fence = _FENCE.match(lines[place])
        if fence is None:
            place += 1
            continue
        closing = re.compile(rf"^ *{fence['ticks']}`*\s*$")
        end = next((row for row in range(place + 1, len(lines)) if closing.match(lines[row])), None)
        if end is None:
            raise PageError(f"line {place + 1}: this block does not end")
        language = fence["language"].strip()
        if not language.startswith("{"):
            if language not in LANGUAGES:
                raise PageError(f"line {place + 1}: language {language!r}; known are {', '.join(sorted(LANGUAGES))}")
            indent = len(fence["indent"])
            text = "".join(
                f"{line[indent:] if line[:indent].isspace() or not indent else line}\n"
                for line in lines[place + 1 : end]
            )
            yield Block(language, text, place + 1), place, end
        place = end + 1


def _described(block: Block, above: str) -> Block:
    """Return a block with what the comments directly above it say."""
    rest = above.rstrip()
    while rest.endswith("-->") and (begin := rest.rfind("<!--")) >= 0:
        comment = _COMMENT.fullmatch(rest[begin:])
        if comment is None:
            break
        block = _with(block, comment["word"], " ".join(comment["value"].split()))
        rest = rest[:begin].rstrip()
    if stray := _COMMENT.search(rest):
        raise PageError(f"a comment before line {block.line} stands directly above no block: {stray[0]}")
    return block


def _with(block: Block, word: str, value: str) -> Block:
    if word == "output":
        return replace(block, is_output=True, varies=value)
    if word == "not run" and value:
        return replace(block, not_run=value)
    if word == "status" and value.isdigit():
        return replace(block, status=int(value))
    if word == "stop" and (not value or value.isdigit()):
        return replace(block, stops=(value, *block.stops))
    if word == "needs" and value:
        return replace(block, needs=(*value.replace(",", " ").split(), *block.needs))
    raise PageError(f"line {block.line}: <!-- {word}: {value} --> says too little or too much")


def mistake_in(block: Block) -> str:
    """Return in words why a block cannot be what its language says; "" if it can."""
    check = _CHECKS.get(block.language)
    if check is None:
        return ""
    try:
        check(block.text)
    except Exception as error:  # each parser has errors of its own
        return f"{type(error).__name__}: {error}"
    return ""


def _shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SyntaxError(done.stderr.strip())


def _python(text: str) -> None:
    compile(text, "block", "exec", dont_inherit=True)


def _toml(text: str) -> None:
    if "metrics" not in tomllib.loads(text) or isinstance(tomllib.loads(text)["metrics"], str):
        return
    parse_metrics(text)


def _ini(text: str) -> None:
    configparser.RawConfigParser(strict=False, allow_no_value=True).read_string(text)


_CHECKS: dict[str, Callable[[str], object]] = {
    "sh": _shell,
    "python": _python,
    "toml": _toml,
    "ini": _ini,
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}
