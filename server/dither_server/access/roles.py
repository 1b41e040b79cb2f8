"""The roles of tokens."""

from enum import Enum


class Role(Enum):
    """The role of a token."""

    REPORT = "report"
    """Send reports: for gateways. A token in an app that everyone has is no secret."""
    READ = "read"
    """Read metrics, estimates, the pages, and the collector's own numbers (``/metrics``)."""
    ADMIN = "admin"
    """Both."""

    def covers(self, other: "Role") -> bool:
        """Return whether this role may do what ``other`` may."""
        return self in {other, Role.ADMIN}


OPEN = None
"""Instead of a role: open to everyone."""
