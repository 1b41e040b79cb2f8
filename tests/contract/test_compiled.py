"""Laws and questions in integers, for clients that do not calibrate.

The JavaScript client, tested by the vectors, shows that reports and answers follow from these alone.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from contract.cases import each, every_small
from contract.test_extension_question import Stars
from dither.cli.compile import compiled, refusals
from dither_shared import Mechanism, ParameterError, parse_metrics
from dither_shared.mechanism import SETS
from dither_shared.mechanisms.auto import choose
from dither_shared.primitives.galois import Field
from dither_shared.questions.number import Grid
from vectors.catalogue import ENTRIES

UNCOMPILED = {"count-mean-sketch", "hadamard-count-mean-sketch"}
"""Mechanisms that need SHAKE-256."""


@cache
def every() -> list[Mechanism]:
    return [*every_small(), *(entry.mechanism for entry in ENTRIES.values())]


def compiles(mechanism: Mechanism) -> bool:
    known = type(mechanism).integers is not Mechanism.integers and mechanism.name not in UNCOMPILED
    return known and not mechanism.memoised


@each(every)
def test_compiled_law_is_json_or_names_the_obstacle(mechanism: Mechanism) -> None:
    if not compiles(mechanism):
        lasting = mechanism.memoised and not mechanism.always_memoised
        with pytest.raises(ParameterError, match="permanent_epsilon: " if lasting else "mechanism: "):
            _ = mechanism.compiled
        return
    law = mechanism.compiled
    assert json.loads(json.dumps(law)) == law, "the law round-trips through JSON"
    assert (law["mechanism"], law["shape"]) == (mechanism.name, mechanism.shape.value)
    assert [law[key] for key in ("cohorts", "cells", "listed")] == [
        *(mechanism.cohorts, mechanism.cells, mechanism.listed)
    ]
    for key, value in law.items():
        fraction = getattr(mechanism, key, None)
        if isinstance(fraction, Fraction):  # a threshold in 16 digits, which is neither 0 nor 1
            assert Fraction(int(str(value), 16), 1 << 64) == fraction
            assert (len(str(value)), 0 < fraction < 1) == (16, True)


def test_compiled_field_comes_with_its_polynomial() -> None:
    tried = set()
    for mechanism in every():
        order = mechanism.compiled.get("order") if compiles(mechanism) else None
        if isinstance(order, int):
            assert mechanism.compiled["lower"] == Field(order).lower
            tried.add(order)
    assert tried >= {2, 3, 4, 5, 8}


def chosen() -> Iterator[Mechanism]:
    """Yield the choices of "auto" for listed answers and sets that are reported once."""
    for size in (2, 3, 7, 100, 4096):
        for epsilon in (0.0001, 0.5, 1.0, 4.0, 25.0):
            for budget in (2, 8, 4096):
                yield choose(size, epsilon, budget=budget)
    for size in (2, 8, 512):
        for epsilon in (0.1, 4.0):
            for most in {1, 3, size // 2, size} & set(range(1, size + 1)):
                yield choose(size, epsilon, items=SETS, promises={"at_most": most})
            yield choose(size, epsilon, items=SETS)


def test_every_choice_of_auto_for_one_report_compiles() -> None:
    names = {mechanism.compiled["mechanism"] for mechanism in chosen()}
    assert names >= {"randomized-response", "subset-selection", "projective-geometry", "set-response", "privset"}


ASKED = (
    'type = "boolean"',
    'type = "choice"\nvalues = ["light", "dark"]',
    'type = "choice"\nvalues = ["none", "a", "b"]\nother = "none"',
    f'type = "choice"\nvalues = {[f"v{n}" for n in range(300)]}',
    'type = "cross"\ncross = {theme = ["light", "dark"], failed = {type = "boolean"}}',
    'type = "selection"\nvalues = ["a", "b", "c"]',
    'type = "selection"\nvalues = ["a", "b", "c"]\nat_most = 3',
    f'type = "selection"\nvalues = {[f"v{n}" for n in range(40)]}\nat_most = 3',
    'type = "number"\nlow = -1\nhigh = 11\nresolution = 4',
    'type = "number"\nlow = 0.05\nhigh = 60.0\nlog = true\nfor = "mean"',
    'type = "number"\nlow = 1e-300\nhigh = 1e300\nlog = true',
    'type = "string"',
    'type = "string"\ndiscover = {alphabet = "a-z0-9._-", length = 12}',
    'type = "string"\ndiscover = {alphabet = "\u00e0-\u00fe", length = 3, fold = true}',
    'type = "string"\ndiscover = {alphabet = "a-z", length = 64, fold = true}',
)
"""A definition of every kind of question, without its epsilon."""


@each(lambda: product(ASKED, (0.1, 4.0)))
def test_every_kind_of_question_compiles_at_every_epsilon(case: tuple[str, float]) -> None:
    definition, epsilon = case
    metric = parse_metrics(f"[metrics.m]\n{definition}\nepsilon = {epsilon}\n")["m"]
    assert refusals(metric) == []
    compiled_metric = json.loads(compiled(metric))
    assert compiled_metric["law"] == metric.mechanism.compiled
    assert (compiled_metric["version"], compiled_metric["epsilon"]) == (metric.version, metric.mechanism.epsilon)
    if compiled_metric["question"]["kind"] == "number":
        grid = {name: value for name, value in compiled_metric["question"].items() if name != "kind"}
        assert Grid(**grid).points == metric.mechanism.size


def test_compile_refuses_a_question_of_another_package_by_its_kind() -> None:
    with pytest.raises(ParameterError, match="type: stars is not supported by other clients"):
        Stars(5).compiled(choose(5, 1.0))
