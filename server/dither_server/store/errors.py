"""The errors of a database, and of a spool."""

from sqlalchemy.exc import SQLAlchemyError

from dither_shared import DitherError, ParameterError


class StoreError(DitherError):
    """The database cannot be read or written now; nothing was changed."""

    public = "the database cannot be read or written now"
    """What a client may be told."""


class UnmadeError(ParameterError):
    """The database, its tables or their newest form do not exist yet; a collector creates them when it starts."""


class RacedError(StoreError):
    """Another process wrote the same key after this one had looked for it."""


class SpoolError(StoreError):
    """The spool cannot be read or written now, or a file of it is damaged; the message names the file."""

    public = "the spool cannot be written now, or is full"


class DamagedError(SpoolError):
    """A file of the spool is not as it was written."""


def message_of(error: Exception) -> str:
    """Return an error with the database's message, without the statement and its values."""
    original = getattr(error, "orig", None) if isinstance(error, SQLAlchemyError) else error
    diagnosis = getattr(original, "diag", None)  # PostgreSQL's message repeats values in its details
    message = getattr(diagnosis, "message_primary", None) or str(original or "") or type(error).__name__
    return f"database: {message.splitlines()[0]}"
