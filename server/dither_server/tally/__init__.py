"""Tallies: reports per cohort and counts per cell; folded from rows, and stored as blocks."""
