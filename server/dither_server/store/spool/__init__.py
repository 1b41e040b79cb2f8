"""The spool: where collectors append batches, and where a fold reads them; no database takes part."""
