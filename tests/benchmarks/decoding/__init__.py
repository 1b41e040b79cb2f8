"""Cases in which candidate strings are to be found in RAPPOR's counts, and how well that goes."""
