"""Ingest under load, beside the simplest collector; ``tests/benchmarks/ingest_speed.py`` prints it."""
