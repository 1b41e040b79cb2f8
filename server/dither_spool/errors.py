"""The errors of a spool."""

from dither_server.store import StoreError


class SpoolError(StoreError):
    """The spool cannot be read or written now, or a file of it is damaged; the message names the file."""

    public = "the spool cannot be written now, or is full"


class DamagedError(SpoolError):
    """A file of the spool is not as it was written."""
