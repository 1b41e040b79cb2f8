"""From an answer to a report that waits: ledger, permanent draws, outbox. Nothing here opens a connection."""
