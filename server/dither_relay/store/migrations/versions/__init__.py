"""Each a step of the schema, by its number."""
