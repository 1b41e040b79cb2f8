"""The migrations of the relay's database."""
