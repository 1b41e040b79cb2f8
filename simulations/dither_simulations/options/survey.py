"""The option that chooses what is asked, and what follows from it for other options."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dither_shared import ParameterError

from ..choices import SURVEY_TYPES, SurveyType

if TYPE_CHECKING:
    from dither_shared import DiscoveryQuestion

__all__ = ["check_names", "discover_option", "refuse_others", "type_option"]


def type_option(about: str) -> Callable[..., Any]:
    """Return ``--type``; the command gets a ``survey_type``."""
    kinds = click.Choice(SURVEY_TYPES)
    return click.option("--type", "survey_type", type=kinds, default="share", show_default=True, help=about)


def _discover(_: click.Context, parameter: click.Parameter, text: str | None) -> "DiscoveryQuestion | None":
    """Read an alphabet and a length, with a slash between them, as a question."""
    if text is None:
        return None
    from dither_shared import DiscoveryQuestion

    alphabet, _slash, length = text.rpartition("/")
    if not (alphabet and length.isdecimal()):
        raise click.BadParameter(f"{text!r} is not an alphabet and a length, such as a-z0-9._-/12", param=parameter)
    return DiscoveryQuestion(alphabet, int(length))


discover_option = click.option(
    "--discover",
    callback=_discover,
    metavar="ALPHABET/LENGTH",
    help="List no strings: find those of up to LENGTH characters of ALPHABET, such as a-z0-9._-/12.",
)


def refuse_others(survey_type: SurveyType, own: Mapping[SurveyType, set[str]]) -> None:
    """Raise ParameterError if an option was given that only other types have; ``own`` names parameters of some."""
    context = click.get_current_context()
    for option in context.command.params:
        types = [other for other, names in own.items() if option.name in names]
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and types and survey_type not in types:
            raise ParameterError(option.opts[-1], f"goes with --type {' or '.join(types)}")


def check_names(names: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Raise ParameterError for a mechanism that does not answer what the type asks."""
    for name in names:
        if name not in known:
            raise ParameterError("--mechanism", f"{name} is not for this --type; take {', '.join(known)}")
