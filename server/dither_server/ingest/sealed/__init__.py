"""Sealed reports: the collector's keys, opening what a relay posts, and what relays are told."""
