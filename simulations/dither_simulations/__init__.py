"""Simulations: find out before anyone is asked how well a question can be answered, and what reports give away.

Client and collector import nothing from here.

The modules are imported by name, so that the command can say what to install where their dependencies are missing.
"""
