"""Stopped: remember why a client does nothing, whether new consent ends that, and how many answers were lost.

A client stops if it could not be created, if the app closes it, and if its user has everything deleted. Whether a
client that runs may draw and send is decided in rules.py.
"""

_CLOSED = "the app, which has closed this client"
_FORGOTTEN = "the user, who deleted everything; agreeing again restarts collection"


class Stopped:
    """True while a client is stopped. Disabling it overrides closing it, which overrides forgetting."""

    def __init__(self) -> None:
        self.unrecorded = 0
        """How many answers were given while the client was stopped."""
        self._disabled = self._closed = self._forgotten = False
        self.reason = ""
        """Why, in words; "" if the client runs."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    def disable(self, reason: str) -> None:
        """Stop the client for good, because it could not be created."""
        self._disabled, self.reason = True, f"an error: telemetry is disabled in this program: {reason}"

    def close(self) -> None:
        """Stop the client for good, because the app has closed it."""
        if not self._disabled:
            self._closed, self.reason = True, _CLOSED

    def forget(self) -> None:
        """Stop the client until the user consents again."""
        if not self:
            self._forgotten, self.reason = True, _FORGOTTEN

    def end(self) -> bool:
        """Let the client run again if new consent can do that; return whether it did."""
        ends = self._forgotten and not self._closed
        if ends:
            self._forgotten, self.reason = False, ""
        return ends

    @property
    def disabled(self) -> bool:
        """Whether the client could not be created."""
        return self._disabled

    @property
    def lossy(self) -> bool:
        """Whether answers were lost, or will be, although nobody wanted that."""
        return self._disabled or (self._closed and self.unrecorded > 0)
