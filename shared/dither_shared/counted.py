"""Write a count with its noun, singular or plural: 1 report, 2,000 reports."""


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number, with commas, and its noun; ``more`` is the plural if it is not ``one`` + s.

    A verb goes in with its noun: ``counted(waiting, "batch waits", "batches wait")``.
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
