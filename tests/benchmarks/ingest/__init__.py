"""Ingest under load, beside what one writes first; ``tests/benchmarks/ingest_speed.py`` prints it."""
