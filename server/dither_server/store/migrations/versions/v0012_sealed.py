"""What came sealed, through a relay, of each metric version, day and stratum."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "sealed",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("stratum", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("shard", sa.LargeBinary(16), primary_key=True),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("batches", "reports", "least_total", "refused")),
    )
