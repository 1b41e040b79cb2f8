"""The command ``dither-relay``."""

import os
import sys

_NEEDED = frozenset({"click", "flask", "numpy", "prometheus_client", "scipy", "sqlalchemy", "httptools"})


def main() -> None:
    """Run the command line, or say what to install if the server's dependencies are missing."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing is computed here, and each thread takes memory
    try:
        from .cli import cli  # noqa: PLC0415  # the client's bare installation has this command too

        cli(prog_name="dither-relay")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.exit("dither-relay needs: pip install 'dither[server]'")


if __name__ == "__main__":
    main()
