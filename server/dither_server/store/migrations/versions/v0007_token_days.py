"""The days of a token: when it expires, and when it was last used."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add them. The tokens that are there do not expire."""
    op.add_column("tokens", sa.Column("expires", sa.Date))
    op.add_column("tokens", sa.Column("used", sa.Date))
