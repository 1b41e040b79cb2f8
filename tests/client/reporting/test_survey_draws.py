"""Surveys on a device: one question per period, drawn from its secret independently of all answers."""

import dataclasses
import re
from collections import Counter
from datetime import date

import pytest

import dither
from client.devices import METRICS, Calendar, Make, parts_on
from dither.consent.rules import terms
from dither.reporting.keys import Keys
from dither_shared import Batch, KeyedEntropy, Metric
from dither_shared.metrics.metric import Survey

LOOKS = Survey("looks", ("font", "mobile", "theme"))
FONT = dataclasses.replace(METRICS["mobile"], name="font")
ANSWERS: dict[str, object] = {"font": True, "mobile": False, "theme": "dark"}
DAY = date(2026, 11, 18).toordinal()


def of(survey: Survey, **changed: object) -> dict[str, Metric]:
    """Return the metrics of a survey, by name."""
    known = {**METRICS, "font": FONT}
    return {name: dataclasses.replace(known[name], survey=survey, **changed) for name in survey.metrics}  # type: ignore[arg-type]  # a test names what it changes


def record_all(client: dither.Client) -> None:
    for name in client.status().metrics:
        client.record(name.name, ANSWERS.get(name.name, True))


def reported(client: dither.Client) -> list[str]:
    return [Batch.decode(body).metric for body in client.preview()]


def test_each_metric_of_a_survey_is_drawn_as_often_as_the_others() -> None:
    """Count over 900 periods of 1 device, then 1 period of 900: outside 240 to 360 with a probability below 1e-4 each.

    The secrets are fixed, so the result is the same in every run.
    """
    keys = Keys(b"a fixed secret")
    for drawn in (
        Counter(keys.asked(LOOKS, day) for day in range(900)),
        Counter(Keys(bytes([n % 256, n // 256])).asked(LOOKS, DAY) for n in range(900)),
        Counter(keys.asked(Survey(f"looks{n}", LOOKS.metrics), DAY) for n in range(900)),
    ):
        assert set(drawn) == set(LOOKS.metrics)
        assert all(240 < times < 360 for times in drawn.values())


def test_draw_of_a_survey_is_permanent_and_moves_only_to_a_metric_that_joins() -> None:
    keys, more = Keys(b"a fixed secret"), Survey("looks", (*LOOKS.metrics, "zoom"))
    before = [keys.asked(LOOKS, day) for day in range(300)]
    assert before == [Keys(b"a fixed secret").asked(LOOKS, day) for day in range(300)]
    after = [keys.asked(more, day) for day in range(300)]
    assert all(new in {old, "zoom"} for old, new in zip(before, after, strict=True))
    assert 40 < after.count("zoom") < 115


def test_survey_answers_one_question_and_counts_the_others(make: Make, calendar: Calendar) -> None:
    client = make(metrics=of(LOOKS))
    days = 25
    for _ in range(days):
        record_all(client)
        calendar.pass_days(1)
    answered = reported(client)
    assert len(answered) == days
    assert set(answered) == set(LOOKS.metrics)
    status = client.status()
    assert (status.unasked, status.ignored) == (2 * days, 0)
    spent = {metric.name: metric.spent for metric in status.metrics}
    assert spent == {name: pytest.approx(answered.count(name)) for name in LOOKS.metrics}, "the others cost nothing"
    assert sorted(metric.state for metric in status.metrics) == ["collected", *["not asked this period"] * 2]
    assert {metric.one_of for metric in status.metrics} == {LOOKS.metrics}


@pytest.mark.parametrize("order", [LOOKS.metrics, LOOKS.metrics[::-1]])
def test_question_of_a_survey_depends_on_no_answer_and_no_order(make: Make, order: tuple[str, ...]) -> None:
    """The same secret draws the same question, whatever the answers."""
    drawn = set()
    for answers in (ANSWERS, {"font": None, "mobile": "maybe", "theme": "plaid"}):
        client = make(metrics=of(LOOKS), entropy=KeyedEntropy(b"one device"), strict=False)
        for name in order:
            client.record(name, answers[name])
        drawn |= set(reported(client))
    assert len(drawn) == 1


@pytest.mark.parametrize(("period", "days"), [("week", 7), ("once", 400)])
def test_survey_asks_once_per_period(make: Make, calendar: Calendar, period: str, days: int) -> None:
    calendar.pass_days(-2)  # to a Monday
    client = make(metrics=of(LOOKS, period=period))
    for _ in range(days):
        record_all(client)
        calendar.pass_days(1)
    assert len(reported(client)) == 1
    record_all(client)
    assert len(reported(client)) == (2 if period == "week" else 1)


def test_survey_with_period_once_keeps_its_draw_despite_an_unknown_metric(make: Make) -> None:
    """An unknown metric may have belonged to a daily survey, but not to a survey that is asked once."""
    for _ in range(10):
        state = dither.MemoryState("on")
        gone = dataclasses.replace(FONT, name="gone")
        make(state, metrics={"gone": gone}).record("gone", True)
        client = make(state, metrics=of(LOOKS, period="once"))
        record_all(client)
        assert reported(client) == ["gone", parts_on(state).journal.keys().asked(LOOKS, 0)]


def test_no_second_question_is_answered_after_an_update_within_a_period(make: Make, calendar: Calendar) -> None:
    """The app's earlier list may hold metrics that it still asks and one that it no longer asks."""
    for day in range(10):
        for before, after in (
            (("font", "mobile"), LOOKS.metrics),
            (LOOKS.metrics, ("font", "theme")),
            (("font",), ("mobile", "theme")),
        ):
            state = dither.MemoryState("on")
            calendar.day = date(2026, 11, 18 - 17) + (date(2026, 11, 2) - date(2026, 11, 1)) * day
            first = make(metrics=of(Survey("looks", before)), state=state)
            record_all(first)
            assert len(reported(first)) == 1
            second = make(metrics=of(Survey("looks", after)), state=state)
            record_all(second)
            assert len(reported(second)) == 1
            calendar.pass_days(1)
            record_all(second)
            assert len(reported(second)) == 2, "it continues with the next period"


def test_a_clock_that_is_set_back_draws_no_second_question(make: Make, calendar: Calendar) -> None:
    client = make(metrics=of(LOOKS))
    record_all(client)
    for _ in range(20):  # the next day is another period; going back to this one opens nothing
        calendar.pass_days(1)
        record_all(client)
        calendar.pass_days(-1)
        record_all(client)
    assert len(reported(client)) == 2


def test_consent_text_names_the_survey_and_changes_with_it(make: Make) -> None:
    client = make(metrics={**of(LOOKS), "browser": METRICS["browser"]})
    said = r"one of 3 questions is asked each day, chosen at random and independently .*\(font, mobile, theme\)"
    assert len(re.findall(said, client.consent_text())) == 3
    theme = of(LOOKS)["theme"]
    assert terms(dataclasses.replace(theme, survey=None)) == terms(METRICS["theme"])
    assert len({terms(METRICS["theme"]), terms(theme), terms(of(Survey("looks", ("theme", "font")))["theme"])}) == 3
    assert theme.version == METRICS["theme"].version
