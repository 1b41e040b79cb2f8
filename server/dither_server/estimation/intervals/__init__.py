"""Compute intervals: exact ones and score intervals of a share, and Fieller's of a ratio of two estimates."""
