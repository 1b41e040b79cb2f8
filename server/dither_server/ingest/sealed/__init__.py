"""Sealed reports: the collector's keys, opening what a relay posts, and the list of pools for relays."""
