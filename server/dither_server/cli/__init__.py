"""The commands of ``dither-server`` and their shared options. They read and print; the work is done elsewhere."""
