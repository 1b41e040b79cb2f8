import pytest

from dither_shared.privacy.rounding import rounded_up


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0"),
        (0.1, "0.1"),
        (29.98786, "29.9879"),
        (29.987801, "29.9879"),
        (365.0, "365"),
        (1234567.0, "1.23457e+6"),
        (1.0000001e-6, "1.00001e-6"),
    ],
)
def test_numbers_are_shown_rounded_up(number: float, shown: str) -> None:
    assert rounded_up(number, 6) == shown
