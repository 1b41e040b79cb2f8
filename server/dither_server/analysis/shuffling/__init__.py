"""The ε of a report for an observer who sees the reports of many people without order or names."""

MOST_REPORTS = 10**10
"""Reports of the largest shuffle that the bounds take."""

MOST_OWN = 10**6
"""Reports of one device that the bounds take together."""
