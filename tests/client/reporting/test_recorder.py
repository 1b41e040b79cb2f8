"""A mistaken answer is logged for the developer and reported like any other: silence never depends on the value."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dither
from client.devices import METRICS, Calendar, Make, parts_on
from shared import odd

VALUES = [*odd.TRUE, *odd.FALSE, *odd.NEITHER, *odd.NO_ANSWERS]


def test_mistaken_answer_is_reported_and_logged_by_metric_and_type(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(strict=False)
    for value in ("Very-Secret", 2, None):
        client.record("mobile", value)
    status = client.status()
    assert (status.queued, status.ignored, status.outside, status.mistakes) == (1, 2, 1, 3)
    assert status.trouble == {"wrong value for metrics.mobile": 3}
    client.record("mobile", "Other-Secret")
    heads = [line.partition(" is not an answer; give True or")[0] for line in caplog.messages]
    assert heads == [f"wrong value for metrics.mobile; {name}" for name in ("str", "int", "NoneType")]


def test_mistakes_of_many_types_do_not_fill_a_log(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    client = make(strict=False)
    for number in range(1000):
        client.record("mobile", type(f"T{number}", (), {})())
    assert len(caplog.messages) == 20
    client.record("theme", [])
    assert len(caplog.messages) == 21, "the first mistake of a metric is logged nevertheless"


def test_mistaken_answer_is_logged_whatever_the_user_has_chosen(make: Make) -> None:
    client = make(mode="off", strict=False)
    client.record("mobile", None)
    assert (client.status().mistakes, client.status().queued, client.status().outside) == (1, 0, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_any_recorded_object_makes_one_report(metric: str, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    for value in VALUES:
        client = make(strict=False)
        client.record(metric, value)
        status = client.status()
        assert status.queued == 1
        assert list(status.trouble) == [f"wrong value for metrics.{metric}"] * status.mistakes
        assert status.outside >= status.mistakes
        refused = pytest.raises(dither.ParameterError, match=rf"^metrics\.{metric}: \w+ is not an answer; gi")
        with refused if status.mistakes else nullcontext():
            make(strict=True).record(metric, value)
    assert "Very-Secret" not in caplog.text


_INDICES = st.integers(0, len(VALUES) - 1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(METRICS)), st.lists(st.tuples(_INDICES, _INDICES, st.integers(0, 8)), max_size=25))
def test_number_of_reports_depends_on_no_value(make: Make, metric: str, days: list[tuple[int, int, int]]) -> None:
    calendar = Calendar()
    client, twin = (make(strict=False, today=calendar) for _ in range(2))
    for index, twin_index, later in days:
        client.record(metric, VALUES[index])
        twin.record(metric, VALUES[twin_index])
        calendar.pass_days(later)
        for each in (client, twin):
            assert not [message for message in each.status().trouble if "failed" in message]
        assert _counts(client) == _counts(twin)
        assert [len(body) for body in client.preview()] == [len(body) for body in twin.preview()]


def _counts(client: dither.Client) -> tuple[int, ...]:
    status = client.status()
    return (status.queued, status.ignored, status.dropped, *(metric.reports for metric in status.metrics))


def test_report_is_not_repeated_if_another_process_has_just_made_it(make: Make, folder: Path) -> None:
    make(folder)
    first, other = parts_on(folder), parts_on(folder)
    assert [core.make_report("mobile", True) for core in (first, other, other)] == [True, False, False]
    assert other.recorder.ignored == 2
    assert [core.make_report("theme", "dark") for core in (first, other)] == [True, False]
    assert first.make_report("weekly", True)
    assert other.make_report("survey", True), "a record of another metric prevents no report"


def test_unknown_metric_name_gets_a_suggestion(make: Make) -> None:
    client = make()
    with pytest.raises(dither.ParameterError, match=r"^metrics\.them: not defined; did you mean 'theme'\?$"):
        client.record("them", "dark")
    with pytest.raises(dither.ParameterError, match=r"^metrics\.browzer: not defined; did you mean 'browser'\?$"):
        client.consent("on", ["browzer"])
    with pytest.raises(dither.ParameterError, match=rf"^metrics\.{64 * 'x'}: not defined$"):
        client.record(1000 * "x", "dark")
    for name in (None, ["theme"], object()):
        with pytest.raises(dither.ParameterError, match=r"^metrics: a value of type \w+ is not the name of a metric$"):
            client.record(name, "true")  # type: ignore[arg-type]  # that is the mistake
