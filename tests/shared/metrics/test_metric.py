"""metrics.toml: facts without influence on numbers, and mistakes named with file, metric and key.

tests/vectors/metrics.json has definitions of each kind with their mechanisms, versions and charges.
"""

from datetime import date, timedelta
from pathlib import Path

import pytest

from dither_shared import MECHANISMS, Metric, ParameterError, load_metrics, parse_metrics
from dither_shared.metrics.period import first_day, last_day

THEME = """
[metrics.theme]
description = "Which theme do people use?"
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
"""
MOBILE = '[metrics.mobile]\ntype = "boolean"\ntruth = 0.75\n'
BROWSER = '[metrics.browser]\ntype = "string"\nf = 0.5\np = 0.25\nq = 0.75\ncandidates = ["Firefox", "Chrome"]\n'


WEEKS = 'type = "choice"\nof = "weeks-since-first-use"'


def only(text: str) -> Metric:
    (metric,) = parse_metrics(text).values()
    return metric


def test_why_owner_tier_cap_and_expiry_are_read_and_leave_the_version_alone() -> None:
    facts = 'why = "To choose"\nowner = "ui@example.org"\nexpires = 2027-06-30\ntier = "technical"\ncap = 20\n'
    metric = only(THEME + facts)
    assert (metric.why, metric.owner, metric.tier, metric.cap) == ("To choose", "ui@example.org", "technical", 20)
    assert metric.expires == date(2027, 6, 30)
    assert not metric.expired(date(2027, 6, 30))
    assert metric.expired(date(2027, 7, 1))
    assert metric.version == only(THEME).version
    bare = only(THEME)
    assert (bare.why, bare.owner, bare.tier, bare.cap, bare.expires) == ("", "", None, None, None)
    assert not bare.expired(date.max)


def test_a_listed_value_can_be_the_catch_all() -> None:
    metric = only(THEME.replace('"dark"]', '"dark"]\nother = "light"'))
    assert metric.labels == ("light", "dark")
    assert metric.item("purple") == 0


def test_version_depends_on_nothing_but_the_numbers_of_a_report() -> None:
    """What it depends on is in tests/vectors/metrics.json."""
    assert only(THEME).version == "2f027490e9dee6fc"
    assert only(THEME.replace("Which", "What")).version == only(THEME).version
    assert only(THEME + 'period = "once"\n').version == only(THEME).version
    assert only(BROWSER.replace('"Firefox"', '"Opera"')).version == only(BROWSER).version


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "m.toml: metrics: missing"),
        ("x = 1\n" + THEME, "m.toml: x: unknown; known here: metrics"),
        ("[metrics\n", "m.toml: not TOML: "),
        ("metrics = 3", "m.toml: metrics: missing"),
        ("[metrics]\ntheme = 3", "m.toml: metrics.theme: not a table"),
        ("[metrics.Theme]", "m.toml: metrics.Theme: not a name"),
        (THEME.replace("1.0", "0"), "m.toml: metrics.theme.epsilon: 0 is not positive"),
        (
            THEME + "epsillon = 2",
            "m.toml: metrics.theme.epsillon: unknown; did you mean 'epsilon'? Known here: after, cap, description, ",
        ),
        (THEME.replace("metrics.", "metric."), "m.toml: metric: unknown; did you mean 'metrics'? Known here: metrics"),
        (
            THEME + 'mechanism = "hadamard-response"\npermanent_epsilon = 2',
            "m.toml: metrics.theme.permanent_epsilon: hadamard-response has none; mechanisms that have it: "
            "local-hashing, optimized-unary, randomized-response",
        ),
        (
            BROWSER + 'mechanism = "count-mean-sketch"',
            "m.toml: metrics.browser.f: count-mean-sketch has none; mechanisms that have it: rappor",
        ),
        (THEME.replace("epsilon = 1.0", 'mechanism = "auto"'), "m.toml: metrics.theme.epsilon: missing"),
        (THEME + "report_budget = 0", "m.toml: metrics.theme.report_budget: 0 is out of range"),
        (
            THEME + 'period = "dayly"',
            "m.toml: metrics.theme.period: 'dayly' is not one of day, week, month, once; did you mean 'day'?",
        ),
        (
            THEME + 'mechanism = "randomised-response"',
            f"m.toml: metrics.theme.mechanism: 'randomised-response' is not one of auto, {', '.join(MECHANISMS)}; "
            "did you mean 'randomized-response'?",
        ),
        (THEME + 'tier = "tecnical"', "m.toml: metrics.theme.tier: 'tecnical' is not one of technical, interaction,"),
        (THEME + "expires = 2027-06-30T00:00:00", "m.toml: metrics.theme.expires: datetime"),
        (THEME + "why = 4", "m.toml: metrics.theme.why: 4 is not a string"),
        (THEME + "cap = nan", "m.toml: metrics.theme.cap: nan is less than the cost of one answer, 1"),
        (THEME.replace('"dark"', "3"), "m.toml: metrics.theme.values: 3 is not a string"),
        (THEME.replace('["light", "dark"]', '"light"'), "m.toml: metrics.theme.values: 'light' is not a list of"),
        (
            THEME.replace("[metrics.theme]", "[metrics.ui.theme]"),
            'm.toml: metrics.ui: contains a table; quote a name that has a dot: [metrics."ui.theme"]',
        ),
        (MOBILE.replace("0.75", "1.5"), "m.toml: metrics.mobile.truth: 1.5 is not a probability"),
        (BROWSER + "bits = 5000", "m.toml: metrics.browser.bits: 5000 is out of range"),
        ('[metrics.s]\ntype = "string"', "m.toml: metrics.s.epsilon: missing; the privacy loss of one report"),
    ],
)
def test_mistakes_are_named_with_file_metric_and_key(text: str, complaint: str) -> None:
    """Others are in tests/vectors/refused_metrics.json."""
    with pytest.raises(ParameterError) as caught:
        parse_metrics(text, "m.toml")
    assert str(caught.value).startswith(complaint)


def test_unreadable_files_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"nowhere\.toml: cannot be read: No such file"):
        load_metrics(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(ParameterError, match=r"latin\.toml: cannot be read: not UTF-8"):
        load_metrics(tmp_path / "latin.toml")
    (tmp_path / "good.toml").write_text(THEME, encoding="utf-8")
    assert load_metrics(tmp_path / "good.toml") == parse_metrics(THEME)


def test_byte_order_mark_of_a_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "marked.toml").write_text(THEME, encoding="utf-8-sig")
    assert load_metrics(tmp_path / "marked.toml") == parse_metrics(THEME)
    with pytest.raises(ParameterError, match="not TOML"):
        parse_metrics(THEME + "\ufeff")


def test_metrics_of_one_shape_are_calibrated_once() -> None:
    for table in (THEME, THEME + "permanent_epsilon = 2.0\n", '[metrics.theme]\ntype = "string"\nepsilon = 1.0\n'):
        one, other = (only(table.replace("metrics.theme", f"metrics.{name}")) for name in "ab")
        assert one.mechanism is other.mechanism
        assert one.version != other.version


def test_a_number_of_the_wrong_type_is_refused_though_an_equal_one_was_right() -> None:
    text = '[metrics.s]\ntype = "string"\nepsilon = 1.0\nbits = 12\n'
    assert only(text).mechanism.cells == 12
    with pytest.raises(ParameterError, match=r"bits: 12\.0 is not a whole number"):
        only(text.replace("12", "12.0"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("epsilon = 1" + 400 * "0", "metrics.a.epsilon"),
        ("epsilon = 1.0\ncap = -1" + 400 * "0", "metrics.a.cap"),
        ("epsilon = 1" + 5000 * "0", "metrics.toml"),
        ("epsilon = 0x1" + 9000 * "0", "metrics.a.epsilon"),
        ("epsilon = " + 100_000 * "[", "metrics.toml"),
    ],
    ids=["epsilon", "cap", "digits", "hexadecimal", "lists"],
)
def test_overlong_numbers_are_refused_by_their_place(text: str, place: str) -> None:
    with pytest.raises(ParameterError, match=place) as refused:
        parse_metrics(f'[metrics.a]\ntype = "boolean"\n{text}\n')
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('type = "boolean"\nof = "count"', r"of: 'count' is not one of any"),
        ('type = "string"\nof = "any"', r"of: a string has no answer from events"),
        ('type = "boolean"\nof = "any"\nperiod = "once"', r'period: "once" never ends'),
        ('type = "boolean"\nof = "any"\none_of = "looks"', r"one_of: a device answers every metric that has of"),
        ('type = "boolean"\nof = "any"\npermanent_epsilon = 2.0', r'permanent_epsilon: not possible with of = "any"'),
        ('type = "selection"\nvalues = ["a", "b"]\nof = "set"\nwindow = 2', r"mechanism: of = .set. needs set"),
        ('type = "selection"\nvalues = ["a", "b"]\nof = "set"\nat_most = 1\nmechanism = "privset"', "mechanism: of"),
        (f'{WEEKS}\nvalues = ["1", "two"]\nperiod = "week"', r"values: 'two' is not"),
        (f'{WEEKS}\nvalues = ["1", "2"]', r'period: must be "week"'),
        ('type = "boolean"\nafter = "0 days"', r"after: '0 days' is not a number of days from 1 to 999"),
        ('type = "boolean"\nafter = 7', r"after: 7 is not a string"),
    ],
)
def test_impossible_events_are_refused_with_their_key(lines: str, message: str) -> None:
    with pytest.raises(ParameterError, match=rf"metrics\.m\.{message}"):
        parse_metrics(f"[metrics.m]\n{lines}\nepsilon = 1.0")


def test_set_of_events_reports_one_value_at_a_time() -> None:
    text = '[metrics.m]\ntype = "selection"\nvalues = ["a", "b", "c", "d"]\nof = "set"\nepsilon = 4.0'
    for chosen in ("", '\nmechanism = "set-response"\nwindow = 1'):
        assert parse_metrics(text + chosen)["m"].mechanism.parameters()["window"] == "1"


def test_events_of_an_answer_are_part_of_the_version() -> None:
    text = '[metrics.m]\ntype = "number"\nlow = 0\nhigh = 9\nepsilon = 1.0\n'
    lines = ["", 'of = "count"\n', 'of = "max"\n', 'of = "count"\nperiod = "week"\n', 'after = "2 days"\n']
    assert len({parse_metrics(text + each)["m"].version for each in lines}) == len(lines)


def test_month_period_has_its_first_and_last_day() -> None:
    for day in (date(2026, 2, 1), date(2026, 2, 28), date(2028, 2, 29), date(2026, 12, 31), date(2027, 1, 1)):
        first, last = (date.fromordinal(end(day.toordinal(), "month")) for end in (first_day, last_day))
        assert first == day.replace(day=1)
        assert (last + timedelta(1)).day == 1
        assert (last.year, last.month) == (day.year, day.month)
