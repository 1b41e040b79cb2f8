"""The relay's tables. From the first release on, a change here needs an upgrade in ``RELAY``."""

import sqlalchemy as sa

from dither_server.store.database import COLLECTOR, DatabaseSchema

TABLES = sa.MetaData()

REVISION = sa.Table("relay_version", TABLES, sa.Column("version_num", sa.String(32), primary_key=True))

# Series of pools that the collector has listed, each once and permanently; ``listed`` is whether it still does. The
# column ``pool`` is the digest by which it is listed, and from the first report on the name with this digest. The
# counts are of reports: those that the collector has taken, those of them that it could not open or read, and those
# that were dropped.
POOLS = sa.Table(
    "relay_pools",
    TABLES,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("pool", sa.Text, nullable=False),
    sa.Column("suite", sa.String(16), nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("listed", sa.Boolean, nullable=False),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("forwarded", "unread", "dropped")),
    sa.UniqueConstraint("pool", "suite"),
)

# A batch has reports of one pool: of one series (``pool``) and one ``period``. A pool has at most one open batch for
# sealed rows of a length, which stays the same unless its collector lists another; the others are frozen: ``total``
# reports, to be posted in bodies of ``share`` reports, which a retry must cut in the same way.
BATCHES = sa.Table(
    "relay_batches",
    TABLES,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("pool", sa.Integer, sa.ForeignKey(POOLS.c.number), nullable=False),
    sa.Column("frozen", sa.Date),
    sa.Column("total", sa.BigInteger),
    sa.Column("share", sa.Integer),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("period", sa.String(32), nullable=False),
)

# Sealed reports by digest: their order in the file says nothing about their arrival.
SEALED = sa.Table(
    "relay_sealed",
    TABLES,
    sa.Column("batch", sa.Integer, sa.ForeignKey(BATCHES.c.number), primary_key=True, autoincrement=False),
    sa.Column("digest", sa.LargeBinary(16), primary_key=True),
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Digests of forwarded reports, which identify retries, and the day of forwarding.
FORWARDED = sa.Table(
    "relay_forwarded",
    TABLES,
    sa.Column("digest", sa.LargeBinary(16), primary_key=True),
    sa.Column("day", sa.Date, nullable=False),
    sqlite_with_rowid=False,
)

# Other remembered values: the limits of the collector, the day of the last round, the last trouble.
STATE = sa.Table(
    "relay_state",
    TABLES,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# Deleted data is overwritten. Pages are large enough for rows sealed with X-Wing: one that does not fit takes a page to
# itself.
RELAY = DatabaseSchema(
    "relay",
    TABLES,
    REVISION,
    POOLS,
    pragmas=("page_size=8192", "secure_delete=ON"),
    apart=COLLECTOR.table.name,
)
