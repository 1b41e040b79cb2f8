"""Drafts of papers about an app's telemetry, from its ``metrics.toml`` and what its operator says of the collector."""
