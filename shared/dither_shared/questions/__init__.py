"""Kinds of question: what an answer may be, and which item of its domain it is.

How an item is perturbed is said in ``mechanisms``.
"""
