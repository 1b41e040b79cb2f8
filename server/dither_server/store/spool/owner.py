"""Whose a spool is: a file in it bears the name of the one database that counts it.

Collectors write it when they start. So a place without one is no spool yet, such as a URL with a slip.
"""

from dither_shared import ParameterError

from ..errors import SpoolError, UnmadeError
from .places import Place

__all__ = ["claim", "require_owner"]

_OWNER = "database"
"""The kind of the file. Its name says all, so two that write it at once do no harm."""

_ABOUT = b"The name of this file is that of the database into which this spool is folded.\n"


def claim(place: Place, database: str) -> None:
    """Write down that a spool is of this database, if it is of none yet; raise as ``require_owner`` if it is not."""
    if not place.names(_OWNER):
        try:
            place.put(_OWNER, database, _ABOUT)
        except SpoolError:
            if database not in place.names(_OWNER):  # or another collector was quicker
                raise
    require_owner(place, database)


def require_owner(place: Place, database: str | None) -> None:
    """Raise UnmadeError if no collector has made the spool, ParameterError if it is of another database.

    None is a database of which the name is not known. Raises SpoolError if the spool cannot be read.
    """
    owners = place.names(_OWNER)
    if not owners:
        raise UnmadeError("spool", f"{place} is no spool: no collector has made it yet; a collector that starts does")
    others = [name for name in owners if name != database]
    if database is not None and others:
        told = f"{place} is of the database {', '.join(others)}, and db is {database}"
        raise ParameterError(
            "spool", f"{told}; name the database that it is of, or delete {place}/{_OWNER} if db took its place"
        )
