"""Bodies of uploads: how a report is built, in the clear or sealed, and what can be read in it."""
