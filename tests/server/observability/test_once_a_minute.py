from dither_server.observability.once_a_minute import OnceAMinute


def test_the_first_is_told_at_once_and_others_together_a_minute_later() -> None:
    now = [0.0]
    lines = OnceAMinute(lambda: now[-1])
    assert [lines.add(), lines.add(), lines.add(3)] == [1, 0, 0]
    now.append(59.9)
    assert lines.add() == 0
    now.append(60.0)
    assert [lines.add(), lines.add()] == [6, 0]
    now.append(1e9)
    assert lines.add(2) == 3
