"""Laws and questions in integers, for clients that calibrate nothing: the exact law follows from these alone."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, inf, nextafter
from typing import Any

import pytest

from contract.cases import each, every_small
from contract.test_extension_question import Stars
from dither.cli.compile import compiled, refusals
from dither_shared import Mechanism, Metric, ParameterError, parse_metrics
from dither_shared.mechanism import SETS
from dither_shared.mechanisms.auto import choose
from dither_shared.primitives.galois import Field
from vectors.catalogue import ENTRIES

HALF = Fraction(1, 2)
Law = dict[str, Any]


def at(law: Law, name: str) -> Fraction:
    """Return the probability of a threshold, which is neither 0 nor 1."""
    digits = law[name]
    assert len(digits) == 16
    assert digits == digits.lower()
    threshold = int(digits, 16)
    assert 0 < threshold < 1 << 64
    return Fraction(threshold, 1 << 64)


def randomized(law: Law, symbols: int) -> dict[str, Fraction]:
    truth = at(law, "truth")
    return {"a": truth, "b": (1 - truth) / (symbols - 1)}


def one_symbol(law: Law) -> dict[str, Fraction]:
    told = randomized(law, law["cells"])
    return {**told, "p": told["a"], "q": told["b"]}


def hashing(law: Law) -> dict[str, Fraction]:
    assert law["cohorts"] == law["order"] ** law["length"]
    told = randomized(law, law["order"])
    return {**told, "p": told["a"], "q": Fraction(1, law["order"])}


def windows(law: Law) -> dict[str, Fraction]:
    patterns = 2 ** law["window"]
    assert law["cells"] == patterns
    told, half = randomized(law, patterns), patterns // 2
    coverage = Fraction(law["window"], law["cohorts"])
    return {**told, "p": told["a"] + (half - 1) * told["b"], "q": half * told["b"], "coverage": coverage}


def unary(law: Law) -> dict[str, Fraction]:
    high, low = at(law, "high"), at(law, "low")
    return {"a": high, "b": low, "p": high, "q": low}


def subsets(law: Law) -> dict[str, Fraction]:
    k, d, inside = law["cells"], law["subset"], at(law, "inside")
    assert law["listed"] in {0, d}
    other = Fraction(comb(k - 2, d - 2) if d > 1 else 0, comb(k - 1, d - 1)) * inside
    other += Fraction(comb(k - 2, d - 1), comb(k - 1, d)) * (1 - inside)
    return {"a": inside, "b": other, "p": inside, "q": other}


def hadamard(law: Law) -> dict[str, Fraction]:
    inside, half = at(law, "inside"), law["cells"] // 2
    assert law["cells"] & law["cells"] - 1 == 0
    return {"a": inside / half, "b": (1 - inside) / half, "p": inside, "q": HALF}


def geometry(law: Law) -> dict[str, Fraction]:
    count, owned, shared = (sum(law["order"] ** place for place in range(law["length"] - less)) for less in range(3))
    assert law["cells"] == count
    inside = at(law, "inside")
    high, low = inside / owned, (1 - inside) / (count - owned)
    return {"a": high, "b": low, "p": inside, "q": shared * high + (owned - shared) * low}


def buckets(law: Law) -> dict[str, Fraction]:
    told, share = geometry(law), Fraction(1, law["buckets"])
    assert law["cells"] >= law["buckets"]
    return {**told, "q": share * told["p"] + (1 - share) * told["q"]}


def prefixes(law: Law) -> dict[str, Fraction]:
    assert law["cohorts"] == law["rows"] * len(law["lengths"])
    assert len(law["weights"]) == len(law["lengths"])
    assert sum(law["weights"]) == 1 << 16
    assert law["lengths"][-1] == law["lengths"][-2] == max(law["lengths"])
    return buckets(law)


def dummies(law: Law) -> dict[str, Fraction]:
    d, w, r, inside = law["size"], law["at_most"], law["subset"], at(law, "inside")
    n = d + w
    assert law["cells"] == n
    meeting, apart = comb(n, r) - comb(d, r), comb(d, r)
    high = inside * comb(n - 1, r - 1) / meeting
    low = inside * (comb(n - 1, r - 1) - comb(d - 1, r - 1)) / meeting + (1 - inside) * comb(d - 1, r - 1) / apart
    return {"a": high, "b": low, "p": high, "q": low}


LAWS: Mapping[str, Callable[[Law], dict[str, Fraction]]] = {
    "randomized-response": one_symbol,
    "dithered-response": one_symbol,
    "local-hashing": hashing,
    "set-response": windows,
    "optimized-unary": unary,
    "symmetric-unary": unary,
    "subset-selection": subsets,
    "hadamard-response": hadamard,
    "projective-geometry": geometry,
    "projective-count-mean-sketch": buckets,
    "prefix-sketch": prefixes,
    "privset": dummies,
}
"""The law of each mechanism, from nothing but its compiled integers."""


@cache
def every() -> list[Mechanism]:
    return [*every_small(), *(entry.mechanism for entry in ENTRIES.values())]


@each(every)
def test_law_follows_from_the_compiled_integers_alone(mechanism: Mechanism) -> None:
    if mechanism.memoised or mechanism.name not in LAWS:
        with pytest.raises(ParameterError) as refused:
            _ = mechanism.compiled
        lasting = mechanism.memoised and not mechanism.always_memoised
        assert refused.value.place == ("permanent_epsilon" if lasting else "mechanism")
        return
    law = json.loads(json.dumps(mechanism.compiled))
    assert law == mechanism.compiled, "nothing in it is changed by JSON"
    assert (law["mechanism"], law["shape"]) == (mechanism.name, mechanism.shape.value)
    assert [law[key] for key in ("cohorts", "cells", "listed")] == [
        *(mechanism.cohorts, mechanism.cells, mechanism.listed)
    ]
    expected = LAWS[mechanism.name](law)
    assert {key: getattr(mechanism, key) for key in expected} == expected


def test_every_law_in_integers_is_tried_by_some_mechanism() -> None:
    assert {one.name for one in every() if not one.memoised} >= LAWS.keys()


def test_compiled_field_comes_with_its_polynomial() -> None:
    tried = set()
    for mechanism in every():
        if not mechanism.memoised and mechanism.name in LAWS and "order" in mechanism.compiled:
            order = mechanism.compiled["order"]
            assert isinstance(order, int)
            assert mechanism.compiled["lower"] == Field(order).lower
            tried.add(order)
    assert tried >= {2, 3, 4, 5, 8}


def test_levels_are_drawn_by_their_weights() -> None:
    for mechanism in every():
        if mechanism.name == "prefix-sketch" and not mechanism.memoised:
            law: Law = dict(mechanism.compiled)
            chances = [Fraction(weight, law["rows"] << 16) for weight in law["weights"] for _ in range(law["rows"])]
            assert mechanism.cohort_law == tuple(chances)


def chosen() -> Iterator[Mechanism]:
    """Yield what "auto" chooses for listed answers and sets that are reported once."""
    for size in (2, 3, 4, 7, 10, 100, 256, 1000, 4096):
        for epsilon in (0.0001, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 25.0):
            for budget in (2, 3, 8, 64, 4096):
                yield choose(size, epsilon, budget=budget)
    for size in (2, 8, 64, 512):
        for epsilon in (0.1, 1.0, 4.0, 8.0):
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


@each(lambda: product(ASKED, (0.1, 1.0, 4.0, 12.0)))
def test_every_kind_of_question_compiles_at_every_epsilon(case: tuple[str, float]) -> None:
    definition, epsilon = case
    metric = parse_metrics(f"[metrics.m]\n{definition}\nepsilon = {epsilon}\n")["m"]
    assert refusals(metric) == []
    told = json.loads(compiled(metric))
    assert told["law"] == metric.mechanism.compiled
    assert (told["version"], told["epsilon"]) == (metric.version, metric.mechanism.epsilon)
    for given, item in read(metric, told["question"]):
        assert metric.item(given) == item, given


def read(metric: Metric, question: Law) -> Iterator[tuple[object, object]]:
    """Yield answers, and the items that follow from the compiled question alone."""
    kind = question["kind"]
    if kind == "boolean":
        yield from ((False, 0), (True, 1), ("neither", 0))
    elif kind == "choice":
        yield from ((value, place) for place, value in enumerate(question["values"]))
        yield "not listed", question["other"]
    elif kind == "cross":
        (first, one), (second, two) = question["axes"]
        width = len(two.get("values", (False, True)))
        for here, row in read(metric, one):
            for there, column in read(metric, two):
                yield {first: here, second: there}, int(str(row)) * width + int(str(column))
    elif kind == "selection":
        values, most = question["values"], question["at_most"] or len(question["values"])
        for given in ([], values[:1], values[::-1], ["not listed", values[1]]):
            yield given, sum(1 << values.index(value) for value in [one for one in given if one in values][:most])
    elif kind == "number":
        borders = question["borders"]
        assert len(borders) + 1 == metric.mechanism.size
        for double in (
            question["low"],
            question["high"],
            0.0,
            -1e300,
            1.7e308,
            *borders,
            *(nextafter(one, -inf) for one in borders),
        ):
            yield double, bisect_right(borders, double)
    elif kind == "discovery":
        symbols = {character: place for place, character in enumerate(question["characters"], 1)}
        few, length = question["characters"][:2], question["length"]
        yield few, bytes(map(symbols.__getitem__, few)).ljust(length, b"\0")
        small = (
            symbols.get("a", len(symbols) + 1) if question["fold"] else len(symbols) + 1
        )  # else it is the mark alone
        yield "A", bytes([small]).ljust(length, b"\0")
    else:
        yield from (("", b""), ("Zo\u00eb", "Zo\u00eb".encode()))


def test_question_from_outside_is_refused_by_its_kind() -> None:
    with pytest.raises(ParameterError, match="type: stars is no kind that other clients know"):
        Stars(5).compiled(choose(5, 1.0))
