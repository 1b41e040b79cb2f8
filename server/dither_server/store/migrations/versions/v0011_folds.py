"""Runs of ``dither-server fold``, and which buckets of the unfinished ones are in the tallies."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "fold_runs",
        sa.Column("run", sa.LargeBinary(16), primary_key=True),
        sa.Column("begun", sa.DateTime, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
    )
    op.create_table(
        "folds",
        sa.Column("run", sa.LargeBinary(16), sa.ForeignKey("fold_runs.run"), primary_key=True),
        sa.Column("bucket", sa.SmallInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("batches", "rows", "repeated", "conflicts")),
        sa.Column("damaged", sa.BigInteger, nullable=False),
    )
