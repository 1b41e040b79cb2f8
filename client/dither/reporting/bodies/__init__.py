"""Bodies of uploads: how a report is built, in the clear or sealed, and what a body says to whoever holds it."""
