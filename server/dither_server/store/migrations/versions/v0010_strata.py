"""Tallies by public stratum. What was counted before has none, and stands at 0."""

import logging
import shutil
from pathlib import Path

import sqlalchemy as sa
from alembic import op

from dither_server.store.errors import StoreError

revision = "0010"
down_revision = "0009"

_log = logging.getLogger(__name__)

_MANY = 100_000
"""From so many rows on, some seconds of work, the upgrade is told."""

_KEYS = 120
"""Bytes of a row beside its counts: its key stands in the table and in the index."""


def upgrade() -> None:
    """Add the stratum to the key. SQLite cannot change a key, so the table is copied, in the same transaction."""
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("tallies", _stratum())
        op.drop_constraint("tallies_pkey", "tallies")
        op.create_primary_key("tallies_pkey", "tallies", ["version", "day", "stratum", "shard", "block"])
    else:
        _copy(op.get_bind())


def _stratum() -> sa.Column[int]:
    """Return the column; a program that knows no strata and still runs goes on counting at its default."""
    return sa.Column("stratum", sa.SmallInteger, nullable=False, server_default="0", autoincrement=False)


def _copy(connection: sa.Connection) -> None:
    rows = connection.scalar(sa.text("SELECT count(*) FROM tallies")) or 0
    _require_room(connection, rows)
    if rows >= _MANY:
        _log.warning("upgrading the database: %d rows of tallies are copied", rows)
    op.rename_table("tallies", "tallies_before")
    op.create_table(
        "tallies",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        _stratum(),
        sa.Column("shard", sa.LargeBinary(16), nullable=False),
        sa.Column("block", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version", "day", "stratum", "shard", "block"),
    )
    key = "version, day, shard, block"
    op.execute(f"INSERT INTO tallies ({key}, counts) SELECT {key}, counts FROM tallies_before ORDER BY {key}")  # noqa: S608  # all is ours
    op.drop_table("tallies_before")
    if rows >= _MANY:
        _log.warning("the database is upgraded")


def _require_room(connection: sa.Connection, rows: int) -> None:
    """Raise StoreError unless the disk has room: in the log for the copy and for erasing, in the file for the copy."""
    counts = connection.scalar(sa.text("SELECT sum(length(counts)) FROM tallies")) or 0
    needed = 3 * (counts + rows * _KEYS)
    free = shutil.disk_usage(Path(str(connection.engine.url.database)).absolute().parent).free
    if free < needed:
        sizes = f"{-(-needed // 1_000_000):,} MB of free disk, and there are {free // 1_000_000:,}"
        raise StoreError(f"database: its upgrade copies the tallies, which takes {sizes}; it is as it was")
