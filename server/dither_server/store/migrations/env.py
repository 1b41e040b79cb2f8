"""Run migrations on the connection that ``migrate`` hands over, inside its transaction."""

from alembic import context

from dither_server.store.tables.schema import SCHEMA

context.configure(connection=context.config.attributes["connection"], target_metadata=SCHEMA)
context.run_migrations()
