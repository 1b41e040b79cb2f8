"""Replace characters that are not allowed in a page or a feed."""

import re

_PLANES = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
"""The two noncharacters at the end of each plane."""

_UNFIT = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufdd0-\ufdef{_PLANES}]")


def replace_control_chars(text: str) -> str:
    """Return a text with U+FFFD in place of each character that is not allowed.

    These are control characters and noncharacters (XML 1.0, section 2.2; HTML, section 13.2.3.5), and the two overrides
    of the writing direction, with which 75 % would be read as 57 %.
    """
    return _UNFIT.sub("�", text)
