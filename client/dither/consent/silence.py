"""Silence: remember why a client does nothing, whether a new yes ends that, and how many answers were lost."""

_CLOSED = "the app, which has closed this client"
_FORGOTTEN = "the user, who had everything deleted; a new yes in this program begins anew"


class Silence:
    """Truthy while a client is silent. A mistake in how it was made outlasts all, a close outlasts a forgetting."""

    def __init__(self) -> None:
        self.unrecorded = 0
        """The number of answers that were given while the client was silent."""
        self._disabled = self._closed = self._forgotten = False
        self.reason = ""
        """What decided it, in words; "" if the client is not silent."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    def disable(self, reason: str) -> None:
        """Begin, for good: the client could not be made."""
        self._disabled, self.reason = True, f"a mistake: telemetry is disabled in this program: {reason}"

    def close(self) -> None:
        """Begin, for good: the app has no more use for the client."""
        if not self._disabled:
            self._closed, self.reason = True, _CLOSED

    def forget(self) -> None:
        """Begin, until the user says yes again."""
        if not self:
            self._forgotten, self.reason = True, _FORGOTTEN

    def end(self) -> bool:
        """End, if a new yes can end it; return whether it did."""
        ends = self._forgotten and not self._closed
        if ends:
            self._forgotten, self.reason = False, ""
        return ends

    @property
    def disabled(self) -> bool:
        """Whether the client could not be made."""
        return self._disabled

    @property
    def lossy(self) -> bool:
        """Whether answers went nowhere, or must, without anyone's wish."""
        return self._disabled or (self._closed and self.unrecorded > 0)
