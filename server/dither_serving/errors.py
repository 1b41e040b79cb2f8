"""The error of whatever keeps what a server takes."""

from dither_shared import DitherError


class StoreError(DitherError):
    """The database cannot be read or written now; nothing of what was asked has happened."""

    public = "the database cannot be read or written now"
    """The message for strangers."""
