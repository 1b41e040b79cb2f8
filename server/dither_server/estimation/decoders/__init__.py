"""Decode tallies where the support of a value is more than a column: transforms, sketches, RAPPOR's regression.

Frequencies and intervals are made elsewhere.
"""
