"""``dither-sim plan``: which epsilon and how many users a survey needs."""
