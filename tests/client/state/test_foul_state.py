"""A state folder that was tampered with or grew without bound neither delays nor ends the program."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from client.devices import Calendar, Make
from dither import __main__ as program
from dither.reporting.ledger import Ledger
from dither.reporting.outbox import Outbox
from dither.state.journal_records import Debit, Hold, Queued
from dither_shared import parse_metrics

METRIC = parse_metrics('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n')["mobile"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.parametrize("name", ["consent", "secret", "journal", "delivery", "versions"])
def test_pipe_in_place_of_a_file_does_not_block(name: str, make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    client = make(folder, mode=None, strict=False)
    client.record("mobile", True)  # reading any of these would never return
    client.status()
    client.close()


def test_spend_of_a_million_charges_is_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    sums: list[int] = []

    def counted(epsilons: Iterable[float]) -> float:
        sums.append(len(list(epsilons)))
        return 0.0

    monkeypatch.setattr("dither_shared.privacy.composition.sequential", counted)
    ledger = Ledger(lifetime_cap=1e9)
    ledger.apply(Debit("mobile", METRIC.version, 740_000, 10**6, 10**6, METRIC.charge, 0.0))
    ledger.apply(Hold(740_000, 10**9))
    assert ledger.spent(METRIC) == pytest.approx((10**6 + 10**9) * METRIC.charge)
    ledger.open_to(METRIC, 740_002)
    assert sums == [2], "the account, and one more report"


def test_outbox_may_grow_while_it_is_listed() -> None:
    """Another thread adds reports while a user views the waiting ones."""
    outbox, reading = Outbox(), False

    class Adding(Queued):
        @property
        def local(self) -> int:  # called during the iteration
            if reading:
                outbox.apply(Queued(f"{len(outbox):032x}", "mobile", 1, 0, b"{}"))
            return 0

    outbox.apply(Adding("f" * 32, "mobile", 1, 0, b"{}"))
    outbox.apply(Queued("e" * 32, "mobile", 1, 0, b"{}"))
    outbox.apply(Queued("d" * 32, "mobile", 1, 1, b"{}"))
    reading = True
    assert len(outbox.waiting()) == 2
    assert len(outbox) == 4


def test_status_command_changes_nothing_after_the_clock_was_ahead(
    make: Make, folder: Path, calendar: Calendar, capsys: pytest.CaptureFixture[str]
) -> None:
    calendar.pass_days(40_000)
    make(folder).record("mobile", True)
    before = (folder / "journal").read_bytes()
    assert program.main(["status", "--app", "tests", "--state", str(folder)], environ={}) == 0
    output = capsys.readouterr()
    assert "Bad file descriptor" not in output.out + output.err
    assert (folder / "journal").read_bytes() == before
