"""Say whether this commit may be released as a tag: ``python -m tests.release v0.2.0`` prints the release's notes.

It ends with 1, and says on standard error what is wrong, if anything is. It needs the standard library alone.
"""

import sys
from pathlib import Path

from .readiness import notes, problems

ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    """Print the notes and return 0, or say what keeps the commit from being released and return 1."""
    if len(arguments) != 1:
        print("usage: python -m tests.release TAG", file=sys.stderr)
        return 2
    (tag,) = arguments
    found = problems(ROOT, tag)
    for problem in found:
        print(f"not ready for {tag}: {problem}", file=sys.stderr)
    if not found:
        print(notes(ROOT, tag.removeprefix("v")))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
