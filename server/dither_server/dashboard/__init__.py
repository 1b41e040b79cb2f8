"""The pages for people: rendered on the server, complete without a script. They only read; nothing is computed here."""
