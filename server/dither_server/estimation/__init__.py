"""From a tally to frequencies with standard errors and intervals. No database, no HTTP."""
