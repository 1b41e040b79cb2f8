"""Many trials over a grid of settings: work shared out, and kept when a run is interrupted."""
