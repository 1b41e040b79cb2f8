"""What an epsilon means: composition over reports, odds in words, and an audit of the installed randomizers."""
