"""``dither-sim error --type selection``: the error of the share of people who have each of some items."""
