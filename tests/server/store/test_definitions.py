"""Definitions in the database bring back the metric that they were written from."""

import json

import pytest

from dither_server.store.definitions import from_json, to_json
from dither_shared import (
    MECHANISMS,
    ParameterError,
    parse_metrics,
)
from dither_shared.mechanism import LISTED
from dither_shared.mechanism import NUMBERS as ITEMS
from server.collecting import METRICS, STRATA

CORNER = parse_metrics(
    '[metrics.corner]\ntype = "string"\nf = 0.5\np = 0\nq = 1\ncandidates = ["é\\u0000"]\n',
)["corner"]


CHOICES = parse_metrics(
    "".join(
        f'[metrics.{name}]\ntype = "choice"\nmechanism = "{name}"\nvalues = ["a", "b", "c"]\nepsilon = 1.5\n'
        for name, family in MECHANISMS.items()
        if family.items == LISTED
    )
)
"""A metric of every family, so that a new family is covered as well."""

NUMBERS = parse_metrics(
    "".join(
        f'[metrics.{name}-{log}]\ntype = "number"\nmechanism = "{name}"\nlow = 0.1\nhigh = 60\nlog = {log}\n'
        f"epsilon = 1.5\nresolution = 6\n{extra}\n"
        for name, family in MECHANISMS.items()
        if family.items == ITEMS
        for log in ("true", "false")
        for extra in ["delta = 1e-3" if "delta" in family.keys else ""]
    )
    + '[metrics.lasting]\ntype = "number"\nlow = -40\nhigh = 50.5\nunit = "°C"\nepsilon = 1\npermanent_epsilon = 2\n'
    + '[metrics.mean]\ntype = "number"\nlow = 0\nhigh = 1e12\nunit = "B"\nepsilon = 4\nfor = "mean"\n'
)

SELECTIONS = parse_metrics(
    "".join(
        f'[metrics.used-{number}]\ntype = "selection"\nvalues = ["c", "a", "b", "é"]\nepsilon = 1.5\n{more}\n'
        for number, more in enumerate(
            (
                "",
                "at_most = 4",
                "at_most = 1",
                "window = 3\nat_most = 2\npermanent_epsilon = 2",
                'mechanism = "privset"\nat_most = 4\npermanent_epsilon = 2',
            )
        )
    )
)


def test_stored_definition_is_read_back_as_the_same_metric() -> None:
    families = (METRICS, CHOICES, NUMBERS, SELECTIONS, STRATA, {"corner": CORNER})
    for metric in (member for family in families for member in family.values()):
        text = to_json(metric)
        assert from_json(text, metric.version) == metric, metric.name
        assert to_json(from_json(text, metric.version)) == text, metric.name


def test_a_definition_of_a_number_has_no_answers() -> None:
    stored = json.loads(to_json(NUMBERS["lasting"]))
    assert stored.keys() & {"values", "other", "candidates"} == set()
    assert (stored["low"], stored["high"], stored["log"], stored["unit"]) == (-40.0, 50.5, False, "°C")


def test_an_altered_definition_is_noticed() -> None:
    altered = to_json(METRICS["theme"]).replace("dark", "dork")
    with pytest.raises(ParameterError, match="altered"):
        from_json(altered, METRICS["theme"].version)


def test_a_mechanism_of_another_program_is_named_as_such() -> None:
    foreign = to_json(METRICS["theme"]).replace("randomized-response", "of-the-future")
    with pytest.raises(ParameterError, match="not known to this program"):
        from_json(foreign, METRICS["theme"].version)


def test_text_that_is_no_definition_is_refused_with_its_version() -> None:
    """A collector starts all the same: it says which version it cannot read."""
    stored = to_json(METRICS["theme"])
    wrong = ['"mechanism":[],"other":"', '"parameters":{"of":"1/0",', '"parameters":{"of":"x",']
    altered = [
        stored.replace('"mechanism":"', wrong[0]),
        *(stored.replace('"parameters":{', text) for text in wrong[1:]),
    ]
    for text in ("no json", "[" * 100_000, "{}", "[]", *altered):
        with pytest.raises(ParameterError, match=f"version {METRICS['theme'].version}"):
            from_json(text, METRICS["theme"].version)


def test_definition_with_whole_numbers_reads_as_fractions() -> None:
    """σ of this one is 1,968 steps: written as a whole number, it is read as one."""
    definition = 'type = "number"\nlow = 0\nhigh = 1\nmechanism = "discrete-gaussian"\nepsilon = 0.1\ndelta = 1e-5\n'
    metric = parse_metrics(f"[metrics.a]\n{definition}")["a"]
    assert "/" not in metric.mechanism.parameters()["deviation"]
    assert from_json(to_json(metric), metric.version) == metric
