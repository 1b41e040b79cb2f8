"""From an uploaded body to counts that are committed once."""
