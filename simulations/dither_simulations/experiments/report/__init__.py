"""One page with every figure: the output of each command, its data, and how to make it again.

Nothing is computed here: each section runs a command.
"""
