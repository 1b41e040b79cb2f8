"""Laws and questions in integers, for clients that do not calibrate.

The JavaScript client, tested by the vectors, shows that reports and answers follow from these alone; compiled.json has
a definition of every kind of question.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest

from contract.cases import each, every_small
from contract.test_extension_question import Stars
from dither_shared import Mechanism, ParameterError
from dither_shared.mechanism import SETS
from dither_shared.mechanisms.auto import choose
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


def test_compile_refuses_a_question_of_another_package_by_its_kind() -> None:
    with pytest.raises(ParameterError, match="type: stars is not supported by other clients"):
        Stars(5).compiled(choose(5, 1.0))
