"""Write the test vectors: ``python -m tests.vectors``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from vectors.files import FILES, FOLDER
from vectors.rendering import render

if __name__ == "__main__":
    for name, cases in FILES.items():
        (FOLDER / name).write_bytes(render(FOLDER / name, cases))
