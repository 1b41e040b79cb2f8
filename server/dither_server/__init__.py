"""The collector: from reports to counts, exactly once, and from counts to estimates with error bars.

Mechanisms, and everything that a device runs, are in the shared package.
"""
