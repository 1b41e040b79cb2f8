"""dither."""
