"""A site of the answers for everyone: files without a script, the same bytes for the same data."""
