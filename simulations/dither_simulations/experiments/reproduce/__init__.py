"""``dither-sim reproduce``: numbers that others published, beside ours."""
