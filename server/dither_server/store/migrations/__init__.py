"""How a database becomes what ``schema`` describes, step by step: ``upgrade``."""
