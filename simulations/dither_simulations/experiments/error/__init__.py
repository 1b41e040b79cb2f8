"""``dither-sim error``: the error of estimates against epsilon, mechanism and number of users."""
