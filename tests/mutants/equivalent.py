"""Mutants that no test can kill, for they compute the same: by file and changed line, with the reason."""

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "server/dither_server/estimation/chebyshev.py",
        "if len(places) < 2 * len(self._kinds) * len(_COUNTS.points):",
    ): "from here on ends are interpolated, to within 1e-6 standard errors of those computed one by one",
    ("shared/dither_shared/privacy/audit.py", "_TOLD = 999"): "how often progress is told changes no finding",
    ("shared/dither_shared/privacy/audit.py", "_TOLD = 1001"): "how often progress is told changes no finding",
    (
        "shared/dither_shared/privacy/audit.py",
        "for cohort in range(min(mechanism.cohorts, 5))",
    ): "one cohort more is searched for two inputs that are far apart; what is found holds for any two",
    (
        "server/dither_server/estimation/exact_intervals.py",
        "_SECANTS, _HALVINGS = 10, 61",
    ): "one halving more than the digits of a double",
}
