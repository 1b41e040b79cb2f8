"""The collector: from reports to counts, exactly once, and from counts to estimates with error bars."""
