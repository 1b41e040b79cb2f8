"""The examination of a collector: its configuration, its database and machine, what comes in, and itself as it runs.

Nothing is modified. A database is opened so that it cannot be written.
"""
