"""Estimates of open domains (RAPPOR): one sparse regression over candidate strings."""
