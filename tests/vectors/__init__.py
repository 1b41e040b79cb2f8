"""Test vectors: what every implementation of dither's client and wire format must compute, as JSON.

``python -m tests.vectors`` writes the files; ``test_vectors.py`` checks that they are those of the code as it is.
README.md says how to read them.
"""
