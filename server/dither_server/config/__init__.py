"""Settings: where each comes from, and what a collector is told at its start."""
