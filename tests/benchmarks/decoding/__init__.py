"""Cases in which candidate strings are looked for in RAPPOR's counts."""
