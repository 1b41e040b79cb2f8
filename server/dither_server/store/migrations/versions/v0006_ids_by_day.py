"""Batch ids by day: SQLite takes them into a journal first, PostgreSQL has a partition for each day."""

import logging
from datetime import date, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_log = logging.getLogger(__name__)


def upgrade() -> None:
    """Make the tables, and move the ids, day by day."""
    connection = op.get_bind()
    op.rename_table("batches", "batches_before")
    if connection.dialect.name == "postgresql":
        op.execute("ALTER TABLE batches_before DROP CONSTRAINT batches_pkey")
    _make_tables()
    days = list(connection.scalars(sa.text("SELECT DISTINCT day FROM batches_before ORDER BY day")))
    if days:
        _log.warning("upgrading the database: batch ids of %d days are put in order", len(days))
    for turn, day in enumerate(map(_as_date, days), start=1):
        _move(connection, turn, day)
    op.drop_table("batches_before")
    if days:
        _log.warning("the database is upgraded")


def _make_tables() -> None:
    op.create_table(
        "batches",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("batch", sa.LargeBinary(16), primary_key=True),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "batch_days",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("opened", sa.Integer, nullable=False),
        sa.Column("closed", sa.Integer),
    )
    op.create_table(
        "batch_filters",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("bits", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "batch_journal",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("ordered", sa.Boolean, nullable=False),
        sa.Column("ids", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )


def _move(connection: sa.Connection, turn: int, day: date) -> None:
    if connection.dialect.name == "postgresql":
        following = day + timedelta(days=1)
        partition = f"CREATE TABLE batches_{day:%Y%m%d} PARTITION OF batches"
        op.execute(f"{partition} FOR VALUES FROM ('{day}') TO ('{following}')")
    moved = "SELECT day, batch, digest FROM batches_before WHERE day = :day ORDER BY batch"
    parameter = sa.bindparam("day", day, sa.Date)
    connection.execute(sa.text(f"INSERT INTO batches (day, batch, digest) {moved}").bindparams(parameter))
    made = sa.text("INSERT INTO batch_days (day, opened) VALUES (:day, :turn)")
    connection.execute(made.bindparams(parameter, turn=turn))


def _as_date(day: date | str) -> date:
    return date.fromisoformat(day) if isinstance(day, str) else day
