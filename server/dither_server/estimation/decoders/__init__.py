"""Decode tallies in which the support of a value is not simply a column: transforms, sketches, RAPPOR's regression.

``estimate.py`` computes frequencies and intervals from the support.
"""
