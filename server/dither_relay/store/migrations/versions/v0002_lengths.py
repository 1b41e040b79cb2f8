"""The length of a batch's rows. Of the batches that are there it is the one that their pool has."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, and fill it."""
    op.add_column("relay_batches", sa.Column("length", sa.Integer, nullable=False, server_default="0"))
    op.execute("UPDATE relay_batches SET length = (SELECT length FROM relay_pools WHERE number = relay_batches.pool)")
