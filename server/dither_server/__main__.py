"""The command ``dither-server``."""

import sys

__all__ = ["main"]

_NEEDED = frozenset({"alembic", "click", "flask", "numpy", "prometheus_client", "scipy", "sqlalchemy", "httptools"})


def main() -> None:
    """Run the command line, or say what to install if the server's own dependencies are missing."""
    try:
        from .cli.main import cli  # noqa: PLC0415  # the client's bare installation has this command too

        cli(prog_name="dither-server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.exit("dither-server needs: pip install 'dither[server]'")


if __name__ == "__main__":
    main()
