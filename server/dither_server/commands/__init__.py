"""The commands of ``dither-server``, and what they share."""
