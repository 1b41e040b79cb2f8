"""Exact building blocks: draws from random bytes, probabilities over 2^64, channels, finite fields, public hashing.

Nothing here knows of metrics or mechanisms.
"""
