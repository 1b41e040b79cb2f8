"""Plain text: what others wrote, made safe to print; a terminal obeys some characters."""

import textwrap

__all__ = ["paragraph", "plain"]

_WIDTH = 80
_LONGEST = 200


def plain(text: str) -> str:
    """Return a text as letters and signs that do nothing, all others escaped, and cut if it is long."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode() for char in cut
    )


def paragraph(head: str, text: str) -> str:
    """Return ``text`` behind ``head`` in lines that fit a terminal, each beginning where the first does."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
