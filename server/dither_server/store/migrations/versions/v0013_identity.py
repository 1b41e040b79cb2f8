"""A random name of the database, by which a spool knows whose it is."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the table, and draw the name."""
    identity = op.create_table("identity", sa.Column("identity", sa.LargeBinary(16), primary_key=True))
    op.bulk_insert(identity, [{"identity": secrets.token_bytes(16)}])
