"""The collector: from reports to counts, exactly once, and from counts to estimates with error bars.

No mechanism is here, and nothing that a device runs: these are shared.
"""
