"""Vectors of definitions compiled for clients that calibrate nothing: laws in integers, and whole metrics."""

from collections.abc import Iterator

from dither.cli.compile import compiled, refusals
from dither_shared.errors import ParameterError

from .catalogue import ENTRIES
from .devices import SENT, STRATIFIED
from .questions import TABLES, defined
from .rendering import Case


def laws() -> Iterator[Case]:
    for entry in ENTRIES.values():
        try:
            yield {"mechanism": entry.id, "law": dict(entry.mechanism.compiled), "refused": None}
        except ParameterError as error:
            yield {"mechanism": entry.id, "law": None, "refused": error.place}


_KEYS = 'why = "To see"\nowner = "ui@example.org"\n'
_MORE: tuple[tuple[str, str], ...] = (
    ("capped", f'type = "boolean"\nepsilon = 1.0\ncap = 20.0\nexpires = 2027-06-30\ntier = "technical"\n{_KEYS}'),
    ("capped", 'type = "boolean"\ntruth = 0.75\ncap = 3.2958\nperiod = "week"\ndescription = "\u00eb \\" \u2028"'),
    ("answered", 'type = "number"\nlow = -1\nhigh = 11\nepsilon = 1.0\nsteps = 2\nresolution = 6'),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60.0\nlog = true\nunit = "s"\nepsilon = 1.0\nresolution = 4'),
    ("tiny", 'type = "number"\nlow = 0\nhigh = 1e-30\nepsilon = 4.0\nresolution = 3'),
    ("used", 'type = "selection"\nvalues = ["a", "b", "c"]\nat_most = 3\nepsilon = 1.0'),
    ("used", f'type = "selection"\nvalues = {[f"v{n}" for n in range(40)]}\nat_most = 3\nepsilon = 1.0'),
    ("crash", 'type = "string"\ndiscover = {alphabet = "a-z\u00eb", length = 6, fold = true}\nepsilon = 1.0'),
    ("both", 'type = "cross"\ncross = {theme = ["light", "dark"], failed = {type = "boolean"}}\ntruth = 0.25'),
    ("asked", 'type = "boolean"\nepsilon = 1.0\none_of = "looks"'),
    ("asked", 'type = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0\nperiod = "once"\none_of = "looks"'),
)
_NAMED = frozenset({"theme", "words", "a.b-c_0", "browser", "both"})
"""Those of metrics.json that differ in more than their mechanisms, whose laws have a file of their own."""


def _tables() -> Iterator[tuple[str, str]]:
    yield from _MORE
    yield from ((name, table) for name, table, _ in (*SENT, *STRATIFIED))
    yield from ((name, table) for name, table in TABLES if name in _NAMED)


def compiled_metrics() -> Iterator[Case]:
    for name, table in dict.fromkeys(_tables()):
        metric = defined(name, table)
        keys = [refusal.place.removeprefix(f"metrics.{name}.") for refusal in refusals(metric)]
        yield {"name": name, "definition": table, "compiled": None if keys else compiled(metric), "refused": keys}
