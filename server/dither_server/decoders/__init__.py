"""Decoding where the support of a value is more than a column of the tally."""
