"""Permanent draws of a string in a sketch: one and one charge for each bucket of the device's own row."""

from pathlib import Path

import pytest

from client.devices import Calendar, Make, Script
from dither.reporting.draws.keys import Keys
from dither_shared import Batch, DiscoveryQuestion, Metric, PrefixSketch, ProjectiveSketch, Report, StringQuestion

LISTED = Metric("listed", StringQuestion(), ProjectiveSketch.calibrate(None, 1.0, 1.000000001, buckets=8))
FOUND = Metric(
    "crash",
    DiscoveryQuestion("a-c", 4),
    PrefixSketch.calibrate(None, 1.0, 1.000000001, characters=3, length=4, buckets=8),
)
TEXTS = [one + two + three for one in "abc" for two in "abc" for three in ("", "a", "bc", "bcc")]


@pytest.mark.parametrize("metric", [LISTED, FOUND], ids=lambda metric: metric.name)
@pytest.mark.parametrize("number", range(3))
def test_texts_of_one_bucket_share_a_tag_and_a_draw_and_no_others_do(metric: Metric, number: int) -> None:
    keys = Keys(bytes([number]) * 32)
    cohort, by_bucket = keys.cohort(metric), dict[int, set[tuple[str, int]]]()
    for text in TEXTS:
        item = metric.item(text)
        (bucket,) = metric.mechanism.permanent_key(item, cohort)
        by_bucket.setdefault(bucket, set()).add((keys.tag(metric, item), keys.draw(metric, item)))
    assert len(by_bucket) > 5
    assert all(len(drawn) == 1 for drawn in by_bucket.values())
    assert len({tag for drawn in by_bucket.values() for tag, _ in drawn}) == len(by_bucket)


@pytest.mark.parametrize("metric", [LISTED, FOUND], ids=lambda metric: metric.name)
def test_a_device_is_charged_for_each_bucket_once_and_its_reports_repeat_the_draw(
    metric: Metric, make: Make, folder: Path, calendar: Calendar
) -> None:
    """A report shows the permanent point but for about 1 in 10^9."""
    sent = Script()
    client = make(folder, metrics={metric.name: metric}, transport=sent)
    keys = Keys(bytes.fromhex((folder / "secret").read_text().split()[2]))
    cohort, seen = keys.cohort(metric), set()
    for text in [*TEXTS[:8], *TEXTS[:8]]:
        key = metric.mechanism.permanent_key(metric.item(text), cohort)
        before = client.status().metrics[0].spent
        client.record(metric.name, text)
        calendar.pass_days(1)
        assert client.flush()
        report = Report.decode(Batch.decode(sent.bodies[-1]).reports, metric.mechanism)
        assert report.cohort == cohort
        assert int.from_bytes(report.payload, "big") == keys.draw(metric, metric.item(text))
        charged = client.status().metrics[0].spent - before
        assert charged == (0 if key in seen else pytest.approx(metric.charge))
        seen.add(key)
    assert client.status().metrics[0].reports == 16


def test_a_usual_sketch_keeps_what_it_drew_in_few_bytes(make: Make, folder: Path, calendar: Calendar) -> None:
    """The key is a bucket, and not the 20,000 points of its hyperplane."""
    metric = Metric("listed", StringQuestion(), ProjectiveSketch.calibrate(None, 1.0, 2.0))
    client = make(folder, metrics={"listed": metric})
    for text in ("Chrome", "Firefox", "Chrome"):
        client.record("listed", text)
        calendar.pass_days(1)
    status = client.status().metrics[0]
    assert status.reports == 3
    assert status.spent == pytest.approx(4.0)
    assert (folder / "journal").stat().st_size < 4_000
