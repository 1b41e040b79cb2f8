"""Thousands of calls under every fault never disturb the host, and nothing grows.

``DITHER_TEST_CALLS`` sets how many calls each fault sees: 1,000,000 before a release, a few thousand here.
"""

import errno
import logging
import os
import random
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import METRICS, Calendar, Make, Script

CALLS = int(os.environ.get("DITHER_TEST_CALLS", "3000"))


class Spiteful(str):
    """A string that fails at every access."""

    __slots__ = ()

    def _fail(self, *_: object) -> NoReturn:
        raise RuntimeError("Very-Secret")

    __str__ = __repr__ = __format__ = encode = lower = __eq__ = _fail  # type: ignore[assignment]
    __hash__ = str.__hash__


class Liar:
    """An object that lies about its type."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise RecursionError

    def __bool__(self) -> NoReturn:
        raise MemoryError


def odd_values() -> Iterator[object]:
    """Yield invalid answers without end, in the same order every time."""
    seeded = random.Random(7)
    odd: list[object] = [None, b"\xff", 1 << 5000, float("nan"), -0.0, [], {}, object(), type, Spiteful("x"), Liar()]
    odd += ["\ud800"]
    odd += ["", "x" * 100_000, "\0", "dark", True, 10**400, complex(1), ..., NotImplemented]
    while True:
        yield seeded.choice(odd)


def bombard(client: dither.Client, calendar: Calendar, calls: int = CALLS) -> None:
    """Record invalid and valid values for known and unknown metrics; now and then a day passes."""
    names: list[object] = [*METRICS, "nothing", "", None, 3, [], Spiteful("theme"), "x" * 10_000]
    values = odd_values()
    for call in range(calls):
        client.record(names[call % len(names)], next(values))  # type: ignore[arg-type]
        if call % 100 == 99:
            calendar.pass_days(1)
            client.preview()
            client.status()


@contextmanager
def fault(monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, every: int) -> Iterator[None]:
    """Let every n-th call of a function of ``os`` fail."""
    real: Callable[..., object] = getattr(os, call)
    count = [0]

    def flaky(*arguments: object, **named: object) -> object:
        count[0] += 1
        if not count[0] % every:
            raise error
        return real(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(f"os.{call}", flaky)
        yield


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_no_value_reaches_the_host_or_the_log(
    make: Make, folder: Path, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(folder, strict=False)
    bombard(client, calendar)
    assert "Very-Secret" not in caplog.text
    assert len(caplog.records) < 30, "once for each kind, and for at most 20 mistaken types"
    calendar.pass_days(1)
    assert client.status().queued > 0
    client.record("theme", "dark")
    assert client.status().metrics[1].reported


@pytest.mark.parametrize(
    "call", ["open", "write", "lstat", "fstat", "lseek", "read", "close", "urandom", "mkdir", "ftruncate", "fsync"]
)
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), OSError(errno.EBADF, "closed"), MemoryError()], ids=repr
)
def test_host_is_not_disturbed_if_every_other_system_call_fails(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, call: str, error: Exception
) -> None:
    client = make(folder, strict=False, mode="on")
    for every in (1, 2):
        with fault(monkeypatch, call, error, every):
            late = make(folder / str(every), strict=False)
            bombard(client, calendar, CALLS // 10)
            bombard(late, calendar, CALLS // 100)
            late.flush(1)
            late.close()
    calendar.pass_days(7)
    after = make(folder, strict=False)
    after.record("theme", "dark")
    assert after.status().metrics[1].reported


def test_host_is_not_disturbed_by_a_read_only_disk(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(folder, strict=False)
    real = os.open

    def read_only(path: str, flags: int, *mode: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "read-only file system")
        return real(path, flags, *mode)

    def refused(*_: object) -> NoReturn:
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr("os.open", read_only)
    monkeypatch.setattr("os.write", refused)  # to what was opened before, too
    bombard(client, calendar)
    assert client.preview() == []
    assert client.status().trouble[f"record failed: OSError, Read-only file system: {str(folder / 'journal')!r}"] > 0


def test_host_is_not_disturbed_by_its_failing_log_handler(
    make: Make, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(logging.Logger, "warning", broken)
    client = make(strict=False)
    bombard(client, calendar, 300)
    assert client.status().trouble


def test_memory_does_not_grow_with_the_calls(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder, strict=False, transport=Script(down=True))
    bombard(client, calendar, 500)
    tracemalloc.start()
    try:
        for call in range(CALLS):
            client.record("theme", f"value {call}")
            client.record(f"unknown {call}", 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    assert len(client.status().trouble) < 20


def test_year_without_a_server_keeps_state_bounded(make: Make, folder: Path, calendar: Calendar) -> None:
    client, before = make(folder, transport=Script(down=True)), set(threading.enumerate())
    tracemalloc.start()
    try:
        for _ in range(366):
            for name in METRICS:
                client.record(name, "true")
            calendar.pass_days(1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    status = client.status()
    assert status.queued <= 31 * len(METRICS)
    assert status.dropped > 1000
    assert peak < 3_000_000
    assert (folder / "journal").stat().st_size < 5_000_000
    assert set(threading.enumerate()) <= before
