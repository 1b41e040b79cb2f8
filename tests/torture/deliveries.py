"""Deliveries of every kind to a collector process: cut, doubled, reordered, at the same time, and through kill -9."""

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from dither_server.tally.tally import Tally
from server.collecting import THEME, batch, rows_of, running, same
from server.test_process import PATIENCE, tally
from torture.devices import post
from torture.proxy import Cut, Proxy

__all__ = ["Deliveries", "deliveries"]

_BATCHES = 8
_NUMBERS = st.integers(0, _BATCHES - 1)


class Deliveries(RuleBasedStateMachine):
    """An acknowledged batch is counted once, whether the device receives the answer or not; nothing else is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.proxy = self.stack.enter_context(Proxy())
        self.batches = [batch(THEME, rows_of(THEME, number + 1, b"%d" % number)) for number in range(_BATCHES)]
        self.counted: set[int] = set()
        self.start()

    def start(self) -> None:
        self.collector = ExitStack()
        self.proxy.url, self.process = self.collector.enter_context(running(self.folder))

    @rule(number=_NUMBERS, cut=st.sampled_from(Cut))
    def deliver(self, number: int, cut: Cut) -> None:
        self.proxy.cut, self.proxy.statuses = cut, []
        response = post(self.proxy.address, self.batches[number].encode())
        self.proxy.cut = Cut.NOWHERE
        if cut is Cut.IN_THE_REQUEST:
            assert (response, self.proxy.statuses) == (None, [])
            return
        assert self.proxy.statuses == [202] * (2 if cut is Cut.TWICE else 1)
        assert (response is not None and response.status == 202) is (cut in {Cut.NOWHERE, Cut.TWICE})
        self.counted.add(number)

    @rule(numbers=st.lists(_NUMBERS, min_size=2, max_size=8))
    def deliver_at_the_same_time(self, numbers: list[int]) -> None:
        statuses: list[int | None] = []

        def device(number: int) -> None:
            response = post(self.proxy.url, self.batches[number].encode())
            statuses.append(None if response is None else response.status)

        threads = [threading.Thread(target=device, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert statuses == [202] * len(numbers)
        self.counted.update(numbers)

    @rule(number=_NUMBERS)
    def steal_an_id(self, number: int) -> None:
        other = batch(THEME, rows_of(THEME, 9), self.batches[number].batch)
        if number in self.counted:
            response = post(self.proxy.address, other.encode())
            assert response is not None
            assert response.status == 202  # and counts nothing, as counts_are_exact sees

    @rule()
    def kill(self) -> None:
        self.process.kill()
        self.collector.close()
        self.start()

    @invariant()
    def counts_are_exact(self) -> None:
        rows = b"".join(self.batches[number].reports for number in self.counted)
        assert same(tally(self.folder, THEME), Tally.fold(THEME.mechanism, rows))

    def teardown(self) -> None:
        self.collector.close()
        self.stack.close()


def deliveries(examples: int, steps: int = 12) -> None:
    """Try sequences of deliveries; raise AssertionError with the shortest that goes wrong."""
    limits = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Deliveries, settings=limits)
