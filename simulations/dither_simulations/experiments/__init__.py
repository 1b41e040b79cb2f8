"""The experiments, a file or a folder for each command of ``dither-sim``."""
