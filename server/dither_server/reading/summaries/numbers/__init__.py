"""A number's mean, quantiles and shares below points: what is estimated where a number is asked for."""
