"""Metrics: the questions that an app asks of every user, read from its ``metrics.toml``."""
