"""Mutation testing: does some test fail if a sign, a comparison or a constant is changed?

``make mutants`` draws mutants by a seed and runs the tests of their room against each. Operators are Cosmic Ray's.
"""
