"""Options that choose mechanisms, and the ε of their reports."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from .common import positive

__all__ = ["epsilon_option", "mechanism_option", "permanent_option"]


def mechanism_option(names: Sequence[str], about: str) -> Callable[..., Any]:
    """Return ``--mechanism``, which may be repeated; the command gets ``names``."""
    return click.option("--mechanism", "names", type=click.Choice(names), multiple=True, help=about)


epsilon_option = click.option(
    "--epsilon", callback=positive, metavar="ε", default="1", show_default=True, help="Privacy loss of one report."
)

permanent_option = click.option(
    "--permanent-epsilon",
    callback=positive,
    metavar="ε",
    help="Privacy loss of all reports of one value together (memoisation).",
)
