"""Whether a question can be answered, found out before anyone is asked.

The modules are imported by name, so that the command can say what to install where their dependencies are missing.
"""
