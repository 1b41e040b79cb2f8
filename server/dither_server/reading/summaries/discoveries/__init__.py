"""Strings that nobody listed: what is estimated where a metric discovers them."""
