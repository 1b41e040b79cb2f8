"""Labels, shortened for tables and charts."""

from dither_server.analysis.estimate_table import shortened


def test_long_labels_are_shortened_in_the_middle() -> None:
    assert shortened("x" * 80) == "x" * 80
    few = shortened("a" * 500 + "1")
    assert few.startswith("aaaa")
    assert few.endswith("a1")
    assert " … " in few
    assert len(few) <= 80
