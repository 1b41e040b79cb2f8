"""The database: metric versions, batch ids, tallies and refusals per day, tokens. The only package that knows SQL.

Nothing here identifies a person: no address, no user, no time finer than a UTC day. The random id
and the day of each batch are stored, and sums of reports.
"""

from .backup import back_up, restore
from .database import Condition, Disk
from .engine import StoreError, UnmadeError, database_file, database_url, without_password
from .store import History, Slice, Snapshot, Store
from .tallies import Refusal, Sealed
from .tokens import StoredToken
from .uploads import Sealing, Upload, UploadOutcome

__all__ = [
    "Condition",
    "Disk",
    "History",
    "Refusal",
    "Sealed",
    "Sealing",
    "Slice",
    "Snapshot",
    "Store",
    "StoreError",
    "StoredToken",
    "UnmadeError",
    "Upload",
    "UploadOutcome",
    "back_up",
    "database_file",
    "database_url",
    "restore",
    "without_password",
]
