"""The ε of a report for an observer who sees the reports of many people without order or names."""
