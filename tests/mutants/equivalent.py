"""Mutants that no test can kill, for they compute the same: by file and changed line, with the reason."""

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[tuple[str, str], str] = {}
