"""Options that the commands share."""
