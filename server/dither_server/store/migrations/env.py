"""Run migrations on the connection of ``migrate``, inside its transaction."""

from alembic import context

from dither_server.store.tables.schema import SCHEMA

context.configure(connection=context.config.attributes["connection"], target_metadata=SCHEMA)
context.run_migrations()
