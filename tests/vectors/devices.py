"""Vectors of a device: the draws that its secret fixes, and the bodies that it sends."""

from collections.abc import Iterator, Mapping

from dither.reporting.bodies import build
from dither.reporting.keys import Keys
from dither_shared import Metric
from dither_shared.metrics.metric import Survey

from .questions import defined
from .rendering import Case
from .scripts import Recorded

_SECRETS = (bytes(32), bytes(range(32)), b"\xff" * 32)
_DAY = 739_940  # 2026-11-20, which is in no body
LASTING: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("two", 'type = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0', (False, True)),
    (
        "theme",
        'type = "choice"\nvalues = ["light", "dark", "system"]\nepsilon = 1.0\npermanent_epsilon = 2.0',
        ("light", "dark", "plaid"),
    ),
    *(
        (
            "many",
            f'type = "choice"\nmechanism = "{name}"\nvalues = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]\n'
            "epsilon = 1.0\npermanent_epsilon = 2.0",
            ("a", "j", "z"),
        )
        for name in ("randomized-response", "local-hashing", "optimized-unary")
    ),
    (
        "flips",
        f'type = "choice"\nmechanism = "bit-flip"\nvalues = {[str(n) for n in range(40)]}\nepsilon = 1.0',
        ("0", "20", "39", "x"),
    ),
    *(
        (
            "used",
            f'type = "selection"\nvalues = {[str(n) for n in range(size)]}\n'
            f"epsilon = 1.0\npermanent_epsilon = 2.0{more}",
            ([], ["1", "0"], "7"),
        )
        for size, more in ((8, "\nwindow = 3"), (32, "\nat_most = 2"))
    ),
    (
        "startup",
        'type = "number"\nlow = 0\nhigh = 100\nunit = "s"\nepsilon = 1.0\npermanent_epsilon = 2.0',
        (-1, 0, 7, 8, 9, 24, 32, 73, 100, None),
    ),
    (
        "browser",
        'type = "string"\nmechanism = "rappor"\nepsilon = 2.0',
        ("", "Chrome", "Zo\u00eb", "Zoe\u0308", "\U0001f600", "\ud800"),
    ),
    ("small", 'type = "string"\nepsilon = 2.0\nbits = 3\nhashes = 2\ncohorts = 300', ("a", "b", "c", "d")),
    ("wide", 'type = "string"\nepsilon = 2.0\nbits = 2048\nhashes = 8\ncohorts = 1', ("Chrome",)),
    (
        "listed",
        'type = "string"\nmechanism = "projective-count-mean-sketch"\nepsilon = 1.0\npermanent_epsilon = 2.0',
        ("Chrome", "Firefox"),
    ),
    (
        "crash",
        'type = "string"\ndiscover = {alphabet = "a-z", length = 6}\nepsilon = 1.0\npermanent_epsilon = 2.0',
        ("abc", "abd", "abcdefg"),
    ),
    ("far", 'type = "string"\nepsilon = 2.0\nbits = 8\nhashes = 1\ncohorts = 65536', ("Chrome", "Firefox")),
)


def permanent() -> Iterator[Case]:
    for name, table, values in LASTING:
        metric = defined(name, table)
        for secret in _SECRETS:
            for value in values:
                yield _drawn(metric, table, secret, value)


def _drawn(metric: Metric, table: str, secret: bytes, value: object) -> Case:
    keys = Keys(secret)
    item = keys.rounded(metric, metric.answers.encode(value))
    cohort, tag, drawn = keys.of(metric).cohort, keys.of(metric).tag(item), keys.of(metric).draw(item)
    return {
        "secret": secret.hex(),
        "name": metric.name,
        "definition": table,
        "version": metric.version,
        "value": value,
        "cohort": cohort,
        "cells": sorted(metric.mechanism.permanent_key(item, cohort)),
        "tag": tag,
        "draw": f"{drawn:0{2 * metric.mechanism.row_format.payload_bytes}x}",
        "kept": keys.of(metric).kept(tag, drawn).draw,
    }


_SURVEYS = (Survey("looks", ("font", "mobile", "theme")), Survey("looks", ("font", "theme")), Survey("a.b-c_0", ("x",)))


def surveys() -> Iterator[Case]:
    for secret in _SECRETS:
        for survey in _SURVEYS:
            for period in (0, 1, _DAY, _DAY + 7):
                asked = Keys(secret).asked(survey, period)
                yield {
                    "secret": secret.hex(),
                    "survey": survey.name,
                    "metrics": list(survey.metrics),
                    "period": period,
                    "asked": asked,
                }


SENT: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("mobile", 'type = "boolean"\ntruth = 0.75', (True, False, "maybe")),
    ("many", f'type = "choice"\nvalues = {[str(n) for n in range(100)]}\nepsilon = 1.0', ("7", "x")),
    (
        "hashed",
        f'type = "choice"\nmechanism = "local-hashing"\nvalues = {[str(n) for n in range(100)]}\nepsilon = 1.0',
        ("7", "x"),
    ),
    ("sketch", 'type = "string"\nmechanism = "hadamard-count-mean-sketch"\nepsilon = 2.0', ("Chrome", "\ud83d\ude00")),
    ("listed", 'type = "string"\nmechanism = "projective-count-mean-sketch"\nepsilon = 1.0', ("Chrome",)),
    ("crash", 'type = "string"\ndiscover = {alphabet = "a-z", length = 6}\nepsilon = 1.0', ("abc", "Abc")),
    ("load", 'type = "number"\nlow = 0\nhigh = 100\nepsilon = 1.0', (0, 40, 101)),
    ("load", 'type = "number"\nmechanism = "discrete-laplace"\nlow = 0\nhigh = 100\nepsilon = 1.0', (0, 40)),
    *LASTING[:3],
    *(lasting for lasting in LASTING if lasting[0] == "used"),
    ("used", f'type = "selection"\nvalues = {[str(n) for n in range(8)]}\nepsilon = 2.0', ([], ["7", "0"])),
    next(lasting for lasting in LASTING if lasting[0] == "startup"),
    ("browser", 'type = "string"\nmechanism = "rappor"\nepsilon = 2.0', ("Chrome",)),
    LASTING[-1],
)


_PLATFORM = 'type = "boolean"\ntruth = 0.75\nstrata = {platform = ["linux", "windows", "Zo\u00eb"]}'
_TWO = (
    'type = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0\nstrata = {beta = ["true", "false"], major = ["1", "2"]}'
)
STRATIFIED: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    *(
        ("mobile", _PLATFORM, {"platform": text})
        for text in ("linux", "Zo\u00eb", "Linux", "linux ", "other", "", None)
    ),
    ("mobile", _PLATFORM, {}),
    ("mobile", _PLATFORM, {"channel": "linux"}),
    ("two", _TWO, {"beta": True, "major": 2}),
    ("two", _TWO, {"major": "3", "beta": False}),
)


def bodies() -> Iterator[Case]:
    for name, table, values in SENT:
        metric = defined(name, table)
        for value in values:
            entropy = Recorded(f"body {name} {value!r}")
            keys, answer = Keys(_SECRETS[1]), metric.answers.encode(value)
            item = keys.rounded(metric, answer) if metric.mechanism.memoised else answer.rounded(entropy)
            queued = build(metric, item, keys, entropy, _DAY, local=False)
            yield _sent(metric, table, value, entropy, queued.body)
    for name, table, given in STRATIFIED:
        metric = defined(name, table)
        if metric.strata is None:
            raise AssertionError(table)
        entropy, stratum = Recorded(f"body {name} in strata"), metric.strata.label_of(given)
        queued = build(metric, metric.item(True), Keys(_SECRETS[1]), entropy, _DAY, local=False, stratum=stratum)
        yield {**_sent(metric, table, True, entropy, queued.body), "given": given, "stratum": stratum}


def _sent(metric: Metric, table: str, value: object, entropy: Recorded, body: bytes) -> Case:
    return {
        "secret": _SECRETS[1].hex(),
        "name": metric.name,
        "definition": table,
        "value": value,
        "entropy": (entropy.given + entropy.beyond(3)).hex(),
        "used": len(entropy.given),
        "body": body.decode("ascii"),
    }
