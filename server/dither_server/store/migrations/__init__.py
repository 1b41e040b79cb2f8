"""Upgrade a database step by step to what ``schema`` describes. No query is here."""
