"""Compute the ε of a report against an observer who sees the reports of many people without order or names."""

MOST_REPORTS = 10**10
"""Maximum number of reports of a shuffle that the bounds support."""

MOST_OWN = 10**6
"""Maximum number of reports of one device that the bounds support."""
