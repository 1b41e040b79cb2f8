"""Find strings in public sketches: those of a list brought later, and those that nobody listed."""
