"""Ingest under load, beside what one writes first; ``tests/bench_ingest.py`` prints it."""
