"""Simulations: find out before you ask anyone how well a question can be answered, and what reports reveal.

Client and collector import nothing from here.

The modules are imported by name, so that the command can say what to install if their dependencies are missing.
"""
