"""An outcome records whether a piece of work succeeded, a timer how long it took."""

import asyncio
import threading
from collections.abc import Generator
from typing import NoReturn

import pytest

import dither
from client.devices import Clock
from dither.outcomes import Timer
from dither.testing import Telemetry
from dither_shared import Metric, parse_metrics

METRICS = parse_metrics(
    "[metrics]\n"
    'startup = {type = "number", low = 0, high = 60, unit = "s", epsilon = 1.0}\n'
    'mobile = {type = "boolean", epsilon = 1.0}\n'
    'theme = {type = "choice", values = ["light", "dark"], epsilon = 1.0}\n'
)


@pytest.fixture(name="dither_metrics")
def _own_metrics() -> dict[str, Metric]:
    return METRICS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(Timer, "_clock", staticmethod(clock))
    return clock


def test_outcome_records_success_or_failure(telemetry: Telemetry) -> None:
    with telemetry.outcome("mobile"):
        pass
    with pytest.raises(ZeroDivisionError), telemetry.outcome("mobile"):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), telemetry.outcome("mobile"):
        raise KeyboardInterrupt
    assert telemetry.recorded("mobile") == [True, False]


def test_outcome_decorates_functions_with_answers_of_its_own(telemetry: Telemetry) -> None:
    for outcome in (dither.outcome, telemetry.outcome):

        @outcome("theme", ok="light", failed="dark")
        def half(by: int) -> float:
            return 4 / by

        assert half(2) == 2
        with pytest.raises(ZeroDivisionError):
            half(0)
    assert telemetry.recorded("theme") == ["light", "dark"] * 2


def test_timer_records_seconds_also_if_the_work_fails(telemetry: Telemetry, clock: Clock) -> None:
    def fail_after(seconds: float) -> NoReturn:
        clock.now += seconds
        raise ZeroDivisionError

    with telemetry.timer("startup"):
        clock.now += 1.5
    with pytest.raises(ZeroDivisionError), telemetry.timer("startup"):
        fail_after(2.5)
    for end in (KeyboardInterrupt, SystemExit, asyncio.CancelledError):
        with pytest.raises(end), telemetry.timer("startup"):
            raise end
    assert telemetry.recorded("startup") == [1.5, 2.5], "cancelled work has no duration"
    assert telemetry.flush(60)
    assert telemetry.collector.counts() == {"startup": 1}


def test_functions_and_coroutines_are_timed(telemetry: Telemetry, clock: Clock) -> None:
    @dither.timer("startup")
    def start(seconds: float, *, fails: bool = False) -> float:
        """Start."""
        clock.now += seconds
        if fails:
            raise ValueError
        return seconds

    @telemetry.timer("startup")
    async def later() -> str:
        await asyncio.sleep(0)
        clock.now += 4
        return "done"

    assert (start(1.0), start.__doc__) == (1.0, "Start.")
    with pytest.raises(ValueError, match=r"^$"):
        start(2.0, fails=True)
    assert asyncio.run(later()) == "done"
    assert telemetry.recorded("startup") == [1.0, 2.0, 4.0]


def test_timer_may_be_nested(telemetry: Telemetry, clock: Clock) -> None:
    timer = telemetry.timer("startup")

    @timer
    def recurse(depth: int) -> None:
        clock.now += 1
        if depth:
            recurse(depth - 1)

    with timer:
        clock.now += 1
        with timer:
            clock.now += 2
        recurse(2)
    assert telemetry.recorded("startup") == [2.0, 1.0, 2.0, 3.0, 6.0]


def test_one_timer_serves_several_tasks(telemetry: Telemetry, clock: Clock) -> None:
    """Tasks that end in the order in which they began, each with its own beginning."""
    timer = telemetry.timer("startup")

    async def work(number: int, turns: list[asyncio.Event]) -> None:
        await turns[number].wait()
        with timer:
            clock.now += 1
            if number < 2:
                turns[number + 1].set()
            for _ in range(10):
                await asyncio.sleep(0)
            clock.now += 10

    async def together() -> None:
        turns = [asyncio.Event() for _ in range(3)]
        turns[0].set()
        await asyncio.gather(*(work(number, turns) for number in range(3)))

    asyncio.run(together())
    assert telemetry.recorded("startup") == [13.0, 22.0, 31.0]
    assert not timer.busy


def test_one_timer_serves_several_threads(telemetry: Telemetry, clock: Clock) -> None:
    timer, inside, go_on = telemetry.timer("startup"), threading.Event(), threading.Event()

    def work() -> None:
        with timer:
            clock.now += 1
            inside.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=work)
    with timer:
        clock.now += 4
        thread.start()
        assert inside.wait(60)
        clock.now += 2
    go_on.set()
    thread.join(60)
    assert telemetry.recorded("startup") == [7.0, 3.0]
    assert not timer.busy


def test_concurrent_calls_of_a_timed_function_are_independent(telemetry: Telemetry, clock: Clock) -> None:
    @telemetry.timer("startup")
    def work() -> Generator[None, None, None]:
        yield

    first, other = work(), work()
    next(first)
    clock.now += 1
    next(other)
    clock.now += 1
    for generator in (first, other):  # the first to begin is the first to end
        assert list(generator) == []
    assert telemetry.recorded("startup") == [2.0, 1.0]


def test_failing_recorder_leaves_no_started_timer_behind(clock: Clock) -> None:
    def refuse(metric: str, value: object) -> NoReturn:
        raise dither.ParameterError(metric, str(value))

    timer = Timer(refuse, "startup", {})
    with pytest.raises(dither.ParameterError, match=r"startup: 0\.0"), timer:
        pass
    assert not timer.busy


def test_timer_ended_in_another_thread_or_without_a_start_is_harmless(telemetry: Telemetry, clock: Clock) -> None:
    timer = telemetry.timer("startup")
    timer.__enter__()
    clock.now += 5
    thread = threading.Thread(target=timer.__exit__, args=(None, None, None))
    thread.start()
    thread.join(60)
    timer.__exit__(None, None, None)
    assert telemetry.recorded("startup") == [5.0]


def test_timed_generator_is_measured_until_its_end(telemetry: Telemetry, clock: Clock) -> None:
    @telemetry.timer("startup")
    def rows() -> Generator[int, str, str]:
        clock.now += 1
        said = yield 1
        clock.now += 2
        return said

    generator = rows()
    assert next(generator) == 1
    assert telemetry.recorded("startup") == []
    with pytest.raises(StopIteration) as end:
        generator.send("done")
    assert end.value.value == "done"
    assert telemetry.recorded("startup") == [3.0]
