"""What all repositories have in common: each reads and writes a few tables, in transactions of its own."""

from contextlib import AbstractContextManager
from typing import Protocol

import sqlalchemy as sa


class Transaction(Protocol):
    """Opens a transaction, for reading unless ``write`` is true."""

    def __call__(self, *, write: bool = False) -> AbstractContextManager[sa.Connection]: ...  # noqa: D102


class Repository:
    """Some tables of a database. Methods raise StoreError if the database fails."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
