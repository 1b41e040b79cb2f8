"""Who may do what: roles, tokens, and which requests come from this machine."""
