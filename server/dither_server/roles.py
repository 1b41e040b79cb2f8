"""What a token may be for."""

from enum import Enum

__all__ = ["Role"]


class Role(Enum):
    """What a token is for."""

    REPORT = "report"
    """Send reports: for gateways. A token inside an app that everyone has is no secret."""
    READ = "read"
    """Read metrics, estimates and the dashboard."""
    ADMIN = "admin"
    """Everything, and how the collector itself fares (``/metrics``)."""

    def covers(self, other: "Role") -> bool:
        """Return whether this role may do what ``other`` may."""
        return self in {other, Role.ADMIN}
