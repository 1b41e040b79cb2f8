"""No answer of the collector changes what the device draws and sends; it can only ask for less."""

import pytest

import dither
from client.conftest import Collector
from client.devices import METRICS, Calendar, Make, Script
from dither_shared import KeyedEntropy

KEEPS_GOING = {200, 202, 400, 404, 409}

BODIES = [
    b'{"epsilon": 50, "q": 1, "p": 0}',
    b'{"accepted": 1, "accepted": 50, "epsilon": NaN}',
    b'{"metrics": {"browser": {"f": 0, "p": 0, "q": 1}}, "period": "hour", "cap": 1e308}',
    b"[" * 100_000,
    b'{"version": "0000000000000000", "type": "urn:dither:problem:version-conflict"}',
    b"\xff\xfe\x00",
]
HEADERS = [
    {"Location": "/elsewhere"},
    {"Set-Cookie": "id=1"},
    {"Retry-After": "NaN"},
    {"ETag": '"1"', "Clear-Site-Data": "*"},
]


def emitted(
    make: Make, calendar: Calendar, collector: Collector, body: bytes, headers: dict[str, str], status: int
) -> list[bytes]:
    """Return what a device sends in four days, each report once, with fixed noise."""
    collector.arrived.clear()
    collector.body = body
    first, state = calendar.day, dither.MemoryState()
    for day in range(4):
        entropy = KeyedEntropy(b"noise", day.to_bytes(1))
        client = make(state, transport=None, endpoint=collector.endpoint, entropy=entropy)
        for name in METRICS:
            client.record(name, "true")
        collector.answers = [(status, headers) for _ in METRICS]
        assert client.flush(60) == (status in {200, 202})
        calendar.pass_days(1)
    calendar.day = first
    assert {request.path for request in collector.arrived} == {"/v1/reports"}
    assert not any({"Cookie", "If-None-Match"} & request.headers.keys() for request in collector.arrived)
    return list(dict.fromkeys(request.body for request in collector.arrived))


@pytest.mark.parametrize("status", [200, 202, 301, 400, 401, 404, 409, 500])
def test_no_answer_of_the_collector_changes_what_is_sent(
    make: Make, calendar: Calendar, collector: Collector, status: int
) -> None:
    honest = emitted(make, calendar, collector, b'{"accepted": 1}', {}, 202)
    assert len(honest) > 3 * len(METRICS) - 3
    for number, body in enumerate(BODIES):
        headers = HEADERS[number % len(HEADERS)]
        sent = emitted(make, calendar, collector, body, headers, status)
        # a status that ends the flush leaves the day's other reports for later
        assert sent == (honest if status in KEEPS_GOING else [body for body in honest if body in sent]), body[:40]
        assert len(sent) >= 4


def test_metric_disabled_by_the_collector_is_silent_for_30_days(make: Make, calendar: Calendar) -> None:
    state = dither.MemoryState()
    sent = Script(down=True)
    client = make(state, transport=sent)
    for _ in range(3):
        client.record("mobile", True)
        client.record("theme", "dark")
        calendar.pass_days(1)
    sent.down = False
    sent.answers = [410]
    assert not client.flush(60), "not every report has arrived"
    assert len(sent.bodies) == 1 + 3, "waiting reports of the metric are dropped, the others are sent"
    assert (client.status().sent, client.status().dropped) == (3, 3)
    assert client.status().metrics[0].state == "disabled"
    calendar.pass_days(30)
    for standing, waiting in (("disabled", 0), ("collected", 1)):
        client = make(state, transport=sent)
        assert client.status().metrics[0].state == standing
        client.record("mobile", True)
        assert len(client.preview()) == waiting
        calendar.pass_days(1)
