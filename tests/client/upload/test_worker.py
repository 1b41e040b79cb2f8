"""The worker's thread: no call is missed while it ends."""

from dither.upload.worker import Worker


def test_a_wake_while_the_worker_ends_starts_it_again() -> None:
    taken: list[int] = []
    waiting = [0]

    def step() -> float | None:
        if not waiting[0]:
            return None
        waiting[0] -= 1
        taken.append(1)
        return 0.0

    worker = Worker(step, lambda _: None)
    for number in range(1, 500):
        waiting[0] += 1
        worker.wake()
        if number % 7 == 0:
            assert worker.flush(60)
    assert worker.flush(60)
    assert waiting[0] == 0


def test_a_wake_during_the_last_step_gets_another_step() -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 1:
            worker.wake()

    worker = Worker(step, lambda _: None)
    worker.wake()
    worker.join(60)
    assert len(steps) == 2
