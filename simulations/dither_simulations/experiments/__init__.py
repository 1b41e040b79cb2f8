"""The experiments, one folder for each command of ``dither-sim``."""
