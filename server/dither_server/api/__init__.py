"""The HTTP API for programs: routes, their roles, their description. Pages for people are in ``dashboard``."""
