"""Find strings in public sketches: strings of a list supplied later, and strings that nobody listed."""
