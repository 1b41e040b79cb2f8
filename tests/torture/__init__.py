"""Torture: what the suite does to a collector at a small size, at any size. ``python -m tests.torture``."""
