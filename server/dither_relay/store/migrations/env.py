"""Run migrations on the connection that ``migrate`` hands over, inside its transaction."""

from alembic import context

from dither_relay.store.schema import RELAY, TABLES

context.configure(
    connection=context.config.attributes["connection"], target_metadata=TABLES, version_table=RELAY.revisions
)
context.run_migrations()
