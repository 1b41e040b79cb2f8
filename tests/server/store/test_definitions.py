"""Definitions in the database bring back the metric that they were written from."""

import pytest

from dither_server.store.definitions import from_json, to_json
from dither_shared import MECHANISMS, ParameterError, parse_metrics
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

LATER = parse_metrics('[metrics.later]\ntype = "boolean"\nof = "any"\nafter = "7 days"\nperiod = "week"\nepsilon = 1\n')

SELECTIONS = parse_metrics(
    "".join(
        f'[metrics.used-{number}]\ntype = "selection"\nvalues = ["c", "a", "b", "é"]\nepsilon = 1.5\n{more}\n'
        for number, more in enumerate(
            ("", "window = 3\nat_most = 2\npermanent_epsilon = 2", 'mechanism = "privset"\nat_most = 4')
        )
    )
)


def test_stored_definition_is_read_back_as_the_same_metric() -> None:
    families = (METRICS, CHOICES, NUMBERS, LATER, SELECTIONS, STRATA, {"corner": CORNER})
    for metric in (member for family in families for member in family.values()):
        text = to_json(metric)
        assert from_json(text, metric.version) == metric, metric.name
        assert to_json(from_json(text, metric.version)) == text, metric.name


def test_an_altered_definition_and_that_of_another_program_are_noticed() -> None:
    for old, new, what in (
        ("dark", "dork", "altered"),
        ("randomized-response", "of-the-future", "its mechanism is not known to this program"),
        ('"choice"', '"of-the-future"', "its type is not known to this program"),
    ):
        with pytest.raises(ParameterError, match=what):
            from_json(to_json(METRICS["theme"]).replace(old, new), METRICS["theme"].version)


def test_text_that_is_no_definition_is_refused_with_its_version() -> None:
    """A collector starts all the same: it says which version it cannot read."""
    stored = to_json(METRICS["theme"])
    altered = [stored.replace('"parameters":{', f'"parameters":{{"of":"{wrong}",') for wrong in ("1/0", "x")]
    altered.append(stored.replace('"mechanism":"', '"mechanism":[],"other":"'))
    for text in ("no json", "[" * 100_000, "{}", "[]", *altered):
        with pytest.raises(ParameterError, match=f"version {METRICS['theme'].version}"):
            from_json(text, METRICS["theme"].version)


def test_definition_with_whole_numbers_reads_as_fractions() -> None:
    """σ of this one is 1,968 steps: written as a whole number, it is read as one."""
    definition = 'type = "number"\nlow = 0\nhigh = 1\nmechanism = "discrete-gaussian"\nepsilon = 0.1\ndelta = 1e-5\n'
    metric = parse_metrics(f"[metrics.a]\n{definition}")["a"]
    assert "/" not in metric.mechanism.parameters()["deviation"]
    assert from_json(to_json(metric), metric.version) == metric
