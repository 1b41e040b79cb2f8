"""Compare dither with pure-ldp and multi-freq-ldpy: errors, speed and leaks, measured in one run.

Each peer runs in an environment of its own, built in a cache folder; nothing of theirs is in the tree.
"""
