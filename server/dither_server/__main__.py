"""The command ``dither-server``."""

import os
import sys

from dither_shared.standard_output import written_whole

_NEEDED = frozenset({"click", "flask", "numpy", "prometheus_client", "scipy", "sqlalchemy", "httptools"})


def main() -> None:
    """Run the command line, or say what to install if the server's own dependencies are missing."""
    # One analysis computes at a time, in short steps. Threads that waited for each other on cores that ingest keeps
    # busy made a step of 0.3 s take 13: numpy reads this variable when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from .cli.main import cli  # noqa: PLC0415  # the client's bare installation has this command too

        with written_whole("dither-server"):
            cli(prog_name="dither-server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.exit("dither-server needs: pip install 'dither[server]'")


if __name__ == "__main__":
    main()
