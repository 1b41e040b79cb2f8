"""The pages for people: written on the server, whole without a script. They only read; no number is computed here."""
