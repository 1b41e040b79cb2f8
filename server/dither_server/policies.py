"""The role that each route takes. A route that is not here is refused to everyone."""

from .roles import Role

__all__ = ["OPEN", "POLICIES"]

OPEN = None
"""No role: anyone may."""

POLICIES: dict[str, Role | None] = {
    "dither.post_reports": Role.REPORT,
    "dither.may_report": Role.REPORT,
    "dither.list_metrics": Role.READ,
    "dither.show_metric": Role.READ,
    "dither.show_version": OPEN,  # who asks knows the name and the version: they are in every copy of the app
    "dither.estimate_metric": Role.READ,
    "dither.combine_versions": Role.READ,
    "dither.compare_estimates": Role.READ,
    "dither.trend_of_estimates": Role.READ,
    "pages.show_dashboard": Role.READ,
    "pages.show_page": Role.READ,
    "pages.show_plotly": Role.READ,
    "dither.healthz": OPEN,
    "dither.readyz": OPEN,
    "dither.show_gauges": Role.READ,
    "dither.show_diagnosis": Role.ADMIN,
    "dither.show_openapi": OPEN,
    "static": OPEN,
}
"""By endpoint, as the app's url map names it."""
