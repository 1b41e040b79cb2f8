"""Fold what collectors have spooled: without what came twice, into the counts of a database."""
