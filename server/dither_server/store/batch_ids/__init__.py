"""Batch ids, by which each batch counts once; and how they are forgotten by day."""
