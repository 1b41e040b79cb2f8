"""From a tally of a numeric question to its mean, share below a point, quantiles and curve.

Pure functions. Answers are points 0..points-1 of a grid; means are in parts of the range, so low is 0 and high is 1.
"""
