"""Answers from few reports follow one rule for all kinds, in JSON, in tables and on terminals."""

import json
import math
import re
from typing import Any

import pytest

from dither_server.reading.query import Query
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.reading.summaries.terminal_text import TextTable
from dither_server.tally.tally import Tally
from dither_shared import KeyedEntropy, Report, parse_metrics

KINDS: dict[str, tuple[str, list[object]]] = {
    "boolean": ('type = "boolean"', [True, False, False]),
    "choice": (f'type = "choice"\nvalues = {[f"v{place}" for place in range(32)]}', ["v1", "v2", "v1"]),
    "cross": (
        'type = "cross"\ncross = {a = ["x", "y"], b = ["x", "y"]}',
        [{"a": "x", "b": "y"}, {"a": "y", "b": "y"}],
    ),
    "selection": ('type = "selection"\nvalues = ["a", "b", "c", "d"]', [["a", "b"], [], ["b"]]),
    "string": ('type = "string"\ncandidates = ["x", "y"]', ["x", "z", "x"]),
    "discovery": ('type = "string"\ndiscover = {alphabet = "a-z", length = 4}', ["ab", "cd", "ab"]),
    "number": ('type = "number"\nlow = 0\nhigh = 10\nunit = "s"', [0, 1, 9]),
    "log": ('type = "number"\nlow = 1\nhigh = 10000\nlog = true\nunit = "s"', [1, 10, 5000]),
}


def answer_of(kind: str, epsilon: float, reports: int) -> tuple[dict[str, Any], str]:
    """Return the API's answer to a survey that devices answered, and what a terminal prints of it."""
    asked, answers = KINDS[kind]
    metric = parse_metrics(f"[metrics.few]\nepsilon = {epsilon}\n{asked}\n")["few"]
    rows, entropy = b"", KeyedEntropy(f"{kind} {epsilon} {reports}".encode())
    for place in range(reports):
        cohort, item = metric.mechanism.draw_cohort(entropy), metric.item(answers[place % len(answers)])
        rows += Report(cohort, metric.mechanism.randomize(item, entropy, cohort)).encode(metric.mechanism)
    summary = summary_of(metric)
    survey = CollectedReports(metric, Tally.fold(metric.mechanism, rows), (None, None), {}, summary.estimate)
    table = summary.table(survey, Query())
    summary.flat(table)
    return table.whole(), lines_of(summary.text(table.whole()))


def lines_of(text: TextTable) -> str:
    """Return all lines of a terminal's text."""
    rows = ["  ".join(row) for row in text.rows]
    return "\n".join([*text.before, *rows, *text.after, *map(lines_of, text.more)])


@pytest.mark.parametrize("epsilon", [0.3, 6.0])
@pytest.mark.parametrize("kind", KINDS)
def test_few_reports_print_no_nonsense(kind: str, epsilon: float) -> None:
    """Numbers appear at the first count that could separate any share from 0, and stay."""
    shown = []
    for reports in (0, 1, 2, 5, 12, 40, 150):
        answer, text = answer_of(kind, epsilon, reports)
        assert answer["reports"] == reports
        assert "NaN" not in json.dumps(answer, allow_nan=True)
        assert not re.search(r"(^|[ (])[-−]0(\.0+)?(?![\d.])", text), text
        assert not re.search(r"[-−][\d.]+% .*hold", text), text
        assert ("were forged" in text) <= (reports >= 50)
        for row in (row for row in answer.get("values", []) if "verdict" in row):
            assert not (row["found"] and row["verdict"] == "too-few")
            assert row["verdict"] == said_of(row["low"], row["high"])
            assert (row["noise_low"] is None) == (row["noise_high"] is None)
            if row["frequency"] is not None and kind != "discovery":
                half = max(row["high"] - row["frequency"], row["frequency"] - row["low"])
                assert f"{100 * half:.2f}" in text
        assert answer["reports"] >= 50 or answer["poisoning"].get("gain_up") is None
        if "mean" in answer:
            shown.append(answer["mean"]["value"] is not None)
            assert shown[-1] == (answer["clipped"]["low"]["share"] is not None)
            assert shown[-1] == all(row["consistent"] is not None for row in answer["cdf"])
            assert (answer["mean"]["standard_error"] is None) >= (kind == "log")
        elif kind != "discovery":
            shown.append(any(row["frequency"] is not None for row in answer["values"]))
            assert shown[-1] or answer["unlisted"] is None
            assert shown[-1] != ("Too few reports to say anything" in text)
    assert shown == sorted(shown)
    assert not any(shown[:1])


def said_of(low: float, high: float) -> str:
    """Return the verdict that an interval of a share has."""
    return "ok" if low > 0 else "too-few" if high >= 0.5 else "noise"


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_shares_are_shown_from_where_a_share_of_all_is_clear_of_0(epsilon: float) -> None:
    metric = parse_metrics(f'[metrics.few]\nepsilon = {epsilon}\ntype = "boolean"\n')["few"]
    least = math.ceil(1.644854**2 * metric.mechanism.variance(0.0))
    for reports in (least - 1, least):
        answer, _ = answer_of("boolean", epsilon, reports)
        assert (answer["values"][0]["frequency"] is None) == (reports < least)
        assert reports >= least or (answer["values"][0]["low"], answer["values"][0]["high"]) == (0, 1)


def test_pairs_have_their_verdict_in_a_terminal() -> None:
    answer, text = answer_of("selection", 6.0, 400)
    known = [row for row in answer["pairs"] if row["share"] is not None]
    assert known
    for row in known:
        assert re.search(rf"^{row['given']} .*{row['value']}  {row['verdict']}$", text, re.MULTILINE)


def test_one_report_says_little_about_a_mean_and_nothing_about_strings_of_others() -> None:
    """A normal approximation would state both to within a few points from one report at a large ε."""
    answer, _ = answer_of("selection", 8.0, 1)
    assert answer["average"]["low"] < 0.5
    assert answer["average"]["high"] > 3
    answer, _ = answer_of("string", 8.0, 1)
    assert answer["unlisted"] is None
    assert all(row["high"] > 0.8 for row in answer["values"])


def test_strings_that_no_report_distinguishes_have_an_estimate() -> None:
    """Of two strings in one bucket of the only row with reports the error is infinite."""
    metric = parse_metrics('[metrics.few]\nepsilon = 4.0\ntype = "string"\nbuckets = 2\ncandidates = ["x", "y", "z"]')[
        "few"
    ]
    entropy, rows = KeyedEntropy(b"row 1"), b""
    for _ in range(2):
        rows += Report(1, metric.mechanism.randomize(b"x", entropy, 1)).encode(metric.mechanism)
    summary, tally = summary_of(metric), Tally.fold(metric.mechanism, rows)
    answer = summary.table(CollectedReports(metric, tally, (None, None), {}, summary.estimate), Query()).whole()
    assert [row["value"] for row in answer["values"]] == ["x", "y", "z"]
