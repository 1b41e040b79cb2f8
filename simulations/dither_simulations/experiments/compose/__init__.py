"""``dither-sim compose``: what the reports of several questions over days come to."""
