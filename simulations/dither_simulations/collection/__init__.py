"""Trials over a real collector, with a real client on every device."""
