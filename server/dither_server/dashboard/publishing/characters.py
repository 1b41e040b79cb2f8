"""Characters that no page and no feed may hold, whoever wrote them into a definition."""

import re

_PLANES = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
"""Two of each plane: XML 1.0 and HTML allow them nowhere."""

_UNFIT = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufdd0-\ufdef{_PLANES}]")


def replace_control_chars(text: str) -> str:
    """Return a text with the sign for "unreadable" in place of each such character.

    These are control characters and what stands for no character (XML 1.0, section 2.2; HTML, section 13.2.3.5), and
    the two signs that turn the order of what follows, by which 75 % would be read as 57 %.
    """
    return _UNFIT.sub("�", text)
