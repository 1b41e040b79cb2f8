"""``dither-sim error --type string``: which strings are found, in a list or without one."""
