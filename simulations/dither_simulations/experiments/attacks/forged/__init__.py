"""Forged reports: what they are, what they raise, and what theory says of it."""
