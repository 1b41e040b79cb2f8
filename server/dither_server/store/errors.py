"""The errors of a database."""

from sqlalchemy.exc import SQLAlchemyError

from dither_serving.problems import StoreError as StoreError  # noqa: PLC0414 - the store exports it
from dither_shared import DitherError, ParameterError
from dither_shared.standard_output import FULL


class UnmadeError(ParameterError):
    """The database, its tables or their newest form do not exist yet; a collector creates them when it starts."""


class RacedError(StoreError):
    """Another process wrote the same key after this one had looked for it."""


def unwritten(path: str, error: OSError) -> DitherError:
    """Return the error of a file that cannot be written: a StoreError if the disk is full, else a ParameterError."""
    problem = f"cannot be written: {error.strerror}"
    return StoreError(f"{path}: {problem}") if error.errno in FULL else ParameterError(path, problem)


def message_of(error: Exception) -> str:
    """Return an error with the database's message, without the statement and its values."""
    original = getattr(error, "orig", None) if isinstance(error, SQLAlchemyError) else error
    diagnosis = getattr(original, "diag", None)  # PostgreSQL's message repeats values in its details
    message = getattr(diagnosis, "message_primary", None) or str(original or "") or type(error).__name__
    return f"database: {message.splitlines()[0]}"
