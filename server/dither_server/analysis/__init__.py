"""Analyses built on estimates: answers, comparisons, trends, health checks, the effect of forged reports.

Nothing here reads the database or debiases a tally.
"""
