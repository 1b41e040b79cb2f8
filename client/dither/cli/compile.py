"""Compile definitions to JSON, for clients that read no TOML and calibrate no mechanisms, such as the browsers' client.

Each metric is one line: its question and its law in integers, and the words that ask people for consent. Metrics that
need a permanent secret are refused, because a browser's storage can be cleared.
"""

import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dither_shared.errors import ParameterError
from dither_shared.languages import ENGLISH, Language
from dither_shared.metrics.metric import Metric

from ..consent.rules import terms
from ..reporting.ledger import Price
from ..transparency.explain import facts, named

FORMAT = "dither-compiled-1"

_ONCE = (
    "after its storage is cleared, a browser would answer again and spend epsilon again, contrary to what"
    ' "once" promises; set period = "day", "week" or "month"'
)
_SURVEY = (
    "a device chooses its question by a secret and SHAKE-256; a browser loses the secret when its storage is "
    "cleared, and has no SHAKE-256; leave one_of out"
)

_SEAL = (
    "WebCrypto in browsers has neither HPKE nor ChaCha20-Poly1305, and dither does not implement cryptography "
    "itself; leave [seal] out, and let browsers report directly to the collector"
)

_LARGE = 64
"""Size in KiB from which a file is called large, because every page loads it."""


def refusals(metric: Metric) -> list[ParameterError]:
    """Return why a metric cannot be compiled, one error per key; none if it can."""
    found = []
    if metric.period == "once":
        found.append(ParameterError("period", _ONCE))
    if metric.survey is not None:
        found.append(ParameterError("one_of", _SURVEY))
    if metric.mixed is not None:
        found.append(ParameterError("mixed", "needs a relay, which this client cannot report to; leave it out"))
    parts: tuple[Callable[[], object], ...] = (
        lambda: metric.mechanism.compiled,
        lambda: metric.question.compiled(metric.mechanism),
    )
    for part in parts:
        try:
            part()
        except ParameterError as error:
            found.append(error)
    of_the_file = [] if metric.seal is None else [ParameterError("seal", _SEAL)]
    return [*of_the_file, *(error.within(f"metrics.{metric.name}.") for error in found)]


def compiled(metric: Metric, say: Language = ENGLISH) -> str:
    """Return the line of a metric: a JSON object in ASCII.

    Numbers are written as the shortest decimals that read as the same doubles. Raises the first of ``refusals``.
    """
    for refusal in refusals(metric):
        raise refusal
    most = Price.of(metric).most
    fields: dict[str, object] = {
        "name": metric.name,
        "version": metric.version,
        "terms": terms(metric),
        "period": metric.period,
        "expires": None if metric.expires is None else metric.expires.isoformat(),
        "epsilon": metric.mechanism.epsilon,
        "reports": None if most == math.inf else int(most),
        "question": metric.question.compiled(metric.mechanism),
        "law": metric.mechanism.compiled,
        "strata": [] if metric.strata is None else metric.strata.stored(),
        "example": metric.question.example,
        "description": say.own(metric.name, "description", metric.description),
        "words": named(facts(metric, say), say),
    }
    if metric.of is not None:
        fields["of"] = metric.of
    if metric.after:
        fields["after"] = metric.after
    return json.dumps(fields, allow_nan=False, separators=(",", ":"))


def compiled_file(metrics: Iterable[Metric], say: Language = ENGLISH) -> str:
    """Return the file of these metrics, one per line, and the sentences of a language: the same for the same input."""
    lines = ",\n".join(compiled(metric, say) for metric in metrics)
    texts = json.dumps(sentences(say), separators=(",", ":"))
    return f'{{"format":"{FORMAT}","language":{json.dumps(say.code)},"sentences":{texts},"metrics":[\n{lines}\n]}}\n'


_OF_PAGES = (
    "ask.one",
    "ask.many",
    "ask.kept.one",
    "ask.kept.many",
    "ask.clear",
    "fact.example",
    "missing.description",
)
"""Texts of the client in JavaScript; all others are those of the element, which has its own in English."""


def sentences(say: Language) -> dict[str, str]:
    """Return the texts that pages need, by identifiers; in other languages than English, those of the element, too."""
    english = ENGLISH.texts
    more = [key for key in english if key.startswith(_OF_ELEMENTS) and say.texts[key] != english[key]]
    return {key: say.texts[key] for key in (*_OF_PAGES, *more)}


_OF_ELEMENTS = ("element.", "state.", "by.")


def size_advice(metrics: Sequence[Metric], text: str) -> str:
    """Return advice on how to make the file ``text`` smaller if it is large; otherwise ""."""
    size = len(text) / 1024
    if size <= _LARGE:
        return ""
    line, largest = max(zip(text.splitlines()[1:], metrics, strict=False), key=lambda each: len(each[0]))
    return (
        f"the file has {size:.0f} KiB, and every page loads it; the largest metric is {largest.name}, with"
        f" {len(line) / 1024:.0f} KiB: fewer or shorter values make it smaller"
    )


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, as far as can be determined."""
    try:
        return one.samefile(other)
    except OSError:  # one is missing, or there is a circle of links
        return False


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of a file in one step, so that a reader sees the old content or the new.

    The file keeps its permissions; those of a new one follow from the umask. A symbolic link stays one; a pipe or a
    device is written to. Raises ParameterError if the file cannot be written.
    """
    try:
        if _is_special(path):
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise ParameterError(str(path), f"cannot be written: {error.strerror}") from None


def _is_special(path: Path) -> bool:
    """Return whether a path exists and is not a plain file; raise OSError for a circle of links."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
