"""Plain text: make what others wrote safe to print, for a terminal obeys some characters."""

import textwrap

__all__ = ["paragraph", "plain"]

_WIDTH = 80


def plain(text: str, longest: int | None = None) -> str:
    """Return a text in which every character that could steer a terminal is escaped, cut to ``longest`` characters."""
    cut = text if longest is None or len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


def paragraph(text: str, head: str = "") -> str:
    """Return ``text`` behind ``head`` in lines that fit a terminal, each beginning where the first does."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
