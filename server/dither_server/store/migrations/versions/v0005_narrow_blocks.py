"""Blocks whose counts take only as many bits as they need.

A block's length tells its width, so those that are stored stay as they are, and are rewritten when they grow. No table
changes: this step keeps a program that knows only wide blocks from reading narrow ones.
"""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Change no table."""
