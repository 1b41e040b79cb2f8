"""Estimate open domains (RAPPOR) by one sparse regression over candidate strings."""
