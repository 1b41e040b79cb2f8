"""Crossings: the shares of pairs of answers, of both questions by themselves, and of one within the other."""
