"""``dither-sim shuffle``: what one report tells among those of others, by two bounds and by an attack."""
