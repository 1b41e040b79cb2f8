"""``dither-sim``, or ``python -m dither_simulations``."""

import sys

from dither_shared.standard_output import written_whole

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line which packages it needs."""
    try:
        from .cli import main as command  # noqa: PLC0415 — what it imports may not be installed

        with written_whole("dither-sim"):
            command(prog_name="dither-sim")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0].startswith("dither"):
            raise
        sys.exit("dither-sim needs: pip install 'dither[simulations]'")


if __name__ == "__main__":
    main()
