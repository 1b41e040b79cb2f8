"""``dither-sim audit``: an attack on the installed randomizers."""
