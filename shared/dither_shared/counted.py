"""Write a count with its noun, singular or plural: 1 report, 2,000 reports."""


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number with its thousands apart and what it counts; ``more`` is the plural where it is not ``one`` + s.

    A verb goes in with its noun: ``counted(waiting, "batch waits", "batches wait")``.
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
