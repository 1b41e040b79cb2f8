"""The tables of the database, and the statements on the small ones."""
