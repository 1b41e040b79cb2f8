"""Folders of format 1, as the client of commit 7e49025 left them: nothing is lost, told anew or forgotten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from client.devices import Calendar, Make, Script
from client.seals import KEY, opened
from client.state.format1_devices import BY_VERSION, METRICS, capped, shown, spending, stored, waiting
from dither.state.journal_records import Charged, Debit, Done, FormerDebit, Header, Permanent, Queued

LASTING = [name for name, metric in METRICS.items() if metric.mechanism.permanent_ratio is not None]
WHOLE = ["waiting", "spent", "damaged", "held", "disabled", "torn", "versions"]
FILES = ("consent", "secret", "journal")


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_lost_and_no_spending_is_forgotten(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    folder = device(name)
    before = stored(folder)
    calendar.pass_days(7)
    client = make(folder, metrics=METRICS, mode=None)
    assert client.status().mode == "on"
    assert client.preview() == waiting(before)
    assert client.status().trouble == {}
    after = stored(folder)
    assert isinstance(after[0], Header)
    assert after[0].format == 2
    assert spending(after) == spending(before)
    assert sum(isinstance(record, Debit) for record in after) == 2 * len(spending(before))
    again = make(folder, metrics=METRICS, mode=None)
    assert again.preview() == waiting(before)
    assert {one.version: (one.reports, one.spent) for one in again.status().metrics} == {
        one.version: (one.reports, one.spent) for one in client.status().metrics
    }
    assert len(again.sent()) == len([record for record in before if isinstance(record, Done) and record.fate == "sent"])


@pytest.mark.parametrize("name", WHOLE)
def test_an_app_may_begin_to_seal_with_the_update(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    folder = device(name)
    before = stored(folder)
    calendar.pass_days(7)
    script = Script()
    client = make(folder, metrics=METRICS, mode=None, seal=KEY, transport=script)
    assert client.status().mode == "on"
    assert spending(stored(folder)) == spending(before)
    dropped = client.status().dropped
    client.flush(60)
    assert (script.bodies, client.status().dropped - dropped) == ([], len(waiting(before)))
    for asked in METRICS:
        client.record(asked, "true")
    assert all(map(opened, client.preview()))


@pytest.mark.parametrize("name", WHOLE)
def test_no_seal_of_a_value_and_no_day_beside_its_tag_is_left(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    folder = device(name)
    calendar.pass_days(7)
    digests = [record.digest for record in stored(folder) if isinstance(record, FormerDebit) and record.digest != "-"]
    assert digests
    make(folder, metrics=METRICS, mode=None).status()
    text = b"".join(path.read_bytes() for path in folder.iterdir()).decode()
    after = stored(folder)
    for digest in digests:
        tag, seal = digest[:32], digest[32:]
        assert seal not in text
        assert text.count(tag) == 1 + any(isinstance(one, Permanent) and one.tag == "1." + tag for one in after)
    first_debit = next(place for place, record in enumerate(after) if isinstance(record, Debit))
    assert not any(isinstance(record, Charged | Permanent) for record in after[first_debit:])
    for version in BY_VERSION:
        tags = [record.tag for record in after if isinstance(record, Charged) and record.version == version]
        assert tags == sorted(tags)
        assert sum(isinstance(one, Permanent) and one.version == version for one in after) <= 1


@pytest.mark.parametrize("name", ["waiting", "held", "torn", "versions"])
def test_a_value_keeps_its_draw_and_is_not_charged_again(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    """Of the first day's answers "a" and the second day's "b"; then "c", which is new."""
    folder = device(name)
    before = shown([record.body for record in stored(folder) if isinstance(record, Queued)])
    calendar.pass_days(7)
    spent = {}
    for value in ("a", "b", "a", "c"):
        client = make(folder, metrics=METRICS, mode=None)
        for question in LASTING:
            client.record(question, value)
        calendar.pass_days(1)
        spent[value] = {one.name: one.spent for one in client.status().metrics}
        assert client.status().trouble == {}
    after = shown(client.preview())
    for question in LASTING:
        version = METRICS[question].version
        now = after[version][-4:]
        assert now[:1] == now[2:3] == before[version][:1]
        if len(before[version]) > 1:  # else the second debit was torn off
            assert now[1:2] == before[version][1:2]
            assert spent["a"][question] == spent["b"][question]
        assert len({report.cohort for report in before[version] + now}) == 1
    assert sum(spent["c"].values()) > sum(spent["a"].values())


def test_beyond_the_budget_the_last_draw_is_replayed(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    """It was charged for "a" and "b", and answered a, b, a, a (for c), a (for d)."""
    folder = device("spent")
    before = shown(waiting(stored(folder)))
    calendar.pass_days(7)
    for value in ("e", "b", "f"):
        client = make(folder, metrics=capped(2), mode=None)
        for question in LASTING:
            client.record(question, value)
        calendar.pass_days(1)
        assert client.status().trouble == {}
    after = shown(client.preview())
    for question in LASTING:
        a, b, *_ = before[METRICS[question].version]
        assert after[METRICS[question].version][-3:] == [a, b, b]


def test_what_the_collector_disabled_stays_so(make: Make, device: Callable[[str], Path], calendar: Calendar) -> None:
    client = make(device("disabled"), metrics=METRICS, mode=None)
    calendar.pass_days(20)
    states = {one.name: one.state for one in client.status().metrics}
    assert states == dict.fromkeys(METRICS, "disabled") | {"survey": "collected"}, "of the survey no report waited"


def test_damage_holds_all_metrics_until_their_next_period(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    calendar.pass_days(1)
    client = make(device("damaged"), metrics=METRICS, mode=None)
    for name in METRICS:
        client.record(name, "true")
    assert client.status().ignored == len(METRICS)
    calendar.pass_days(1)
    for name in METRICS:
        client.record(name, "true")
    assert client.status().ignored == len(METRICS) + 1, "the one that is asked once stays silent"


def test_a_client_that_does_not_know_the_metrics_reads_and_changes_nothing(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    """It could not keep the last draws."""
    folder = device("spent")
    before = {name: (folder / name).read_bytes() for name in FILES}
    calendar.pass_days(6)
    sent = Script()
    client = make(folder, metrics={}, mode=None, transport=sent)
    assert client.preview() == waiting(stored(folder))
    assert client.flush(60) is False
    assert sent.bodies == []
    assert client.status().queued == len(client.preview())
    assert before == {name: (folder / name).read_bytes() for name in FILES}
    reading = make(folder, metrics=METRICS, mode=None)
    reading.record("mobile", True)
    client.status()
    assert len(client.preview()) == len(waiting(stored(folder)))


def test_a_yes_from_which_nothing_followed_is_asked_for_again(make: Make, device: Callable[[str], Path]) -> None:
    """Its secret may be lost; nobody can tell."""
    folder = device("asked")
    client = make(folder, metrics=METRICS, mode=None)
    client.record("theme", "a")
    assert client.status().mode == "off"
    assert client.pending() == list(METRICS)
    client.consent("on")
    client.record("theme", "a")
    assert client.status().queued == 1


def test_a_client_of_format_1_refuses_a_journal_of_today(make: Make, folder: Path) -> None:
    """It knows one by its first line, "journal 1 …", and leaves alone what begins with another number."""
    make(folder, metrics=METRICS).record("theme", "a")
    assert (folder / "journal").read_bytes().split()[1:3] == [b"journal", b"2"]
