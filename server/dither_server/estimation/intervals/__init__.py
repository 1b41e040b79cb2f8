"""Intervals: of a share, exactly or by a score; of a ratio of two estimates."""
