"""Estimate the mean, shares below points, quantiles and the curve of a numeric question from a tally.

Pure functions. Answers are points 0..points-1 of a grid; means are in parts of the range, so low is 0 and high is 1.
"""
