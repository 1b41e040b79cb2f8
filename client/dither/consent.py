"""Consent: whether anything may be drawn and sent, and who decided it.

The order of authority, the first that speaks decides:

1. ``DO_NOT_TRACK`` in the environment (any value but "" and "0"): off;
2. ``DITHER`` in the environment: off, local or on; anything else is taken for off;
3. the user's own choice, stored on the device; one that cannot be read is taken for off;
4. otherwise: off.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, cast, get_args

from dither_shared.errors import ParameterError

__all__ = ["Consent", "Mode", "checked_mode", "decide"]

Mode = Literal["off", "local", "on"]
"""off: nothing is drawn, nothing is written; local: reports are made and shown, never sent; on: they are sent."""


class Consent(NamedTuple):
    """A mode and, in words, what decided it."""

    mode: Mode
    decided_by: str


def decide(environ: Mapping[str, str], choice: str | None) -> Consent:
    """Return the mode that holds, given the environment and the user's stored choice (None: never asked)."""
    if environ.get("DO_NOT_TRACK", "") not in {"", "0"}:
        return Consent("off", "DO_NOT_TRACK in the environment")
    if wish := environ.get("DITHER", ""):
        return _read(wish, "DITHER in the environment")
    if choice is not None:
        return _read(choice, "the user's choice")
    return Consent("off", "default: nobody has been asked")


def checked_mode(mode: str) -> Mode:
    """Return ``mode``; raise ParameterError unless it is off, local or on."""
    if mode not in get_args(Mode):
        raise ParameterError("consent", f"{mode!r} is not one of off, local, on")
    return cast("Mode", mode)


def _read(wish: str, source: str) -> Consent:
    try:
        return Consent(checked_mode(wish), source)
    except ParameterError:
        return Consent("off", f"{source}, which cannot be read")
