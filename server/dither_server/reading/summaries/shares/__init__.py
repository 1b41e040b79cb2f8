"""Shares of values: what is estimated where answers are listed, or candidate strings are looked for."""
