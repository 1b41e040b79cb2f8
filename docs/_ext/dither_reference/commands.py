"""Reference of command lines: every command of a program, with its arguments and options."""

import inspect
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress

import click

from dither.__main__ import main
from dither.cli.developers import DEVELOPERS
from dither.cli.users import USERS
from dither_relay.cli import cli as relay
from dither_server.cli.main import cli as server
from dither_simulations.cli import main as simulations

from .markdown import code, plain, table

__all__ = ["click_commands", "module_commands"]

_PROGRAMS: dict[str, click.Command] = {"dither-server": server, "dither-relay": relay, "dither-sim": simulations}

_NOTE = re.compile(r"\s*\[([^\]]*)\]$")
_VARIABLE = re.compile(r"^(DITHER_\w+)(, else .*)?$")


def click_commands(program: str) -> str:
    """Return the commands of ``dither-server``, ``dither-relay`` or ``dither-sim``, each as a section."""
    return "\n".join(_sections(_PROGRAMS[program], program, None))


def _sections(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    """Yield the section of a command, and then those of the commands below it."""
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, terminal_width=1000)
    if parent is not None:
        yield f"## {path}\n"
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    rows = [_option_row(one, context) for one in options if "--help" not in one.opts]
    if rows:
        yield table(("option", "what it does"), rows)
    if command.epilog:
        yield f"{plain(command.epilog)}\n"
    if isinstance(command, click.Group):
        below = [(name, _loaded(command, name, context)) for name in command.list_commands(context)]
        told = ((_link(path, name), plain(one.get_short_help_str(200))) for name, one in below)
        yield table(("command", "what it does"), told)
        for name, one in below:
            yield from _sections(one, f"{path} {name}", context)


def _link(path: str, name: str) -> str:
    return f"[{code(name)}](#{path.replace(' ', '-')}-{name})"


def _loaded(group: click.Group, name: str, context: click.Context) -> click.Command:
    """Return a command of a group; one that is imported late, too."""
    _, command, _ = group.resolve_command(context, [name])
    if command is None:
        raise LookupError(name)
    return command


def _paragraphs(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text; what follows a line of \b is kept as it is."""
    for paragraph in text.partition("\f")[0].split("\n\n"):
        kept = paragraph.removeprefix("\b\n")
        yield f"```text\n{kept}\n```\n" if kept != paragraph else f"{plain(paragraph)}\n"


def _option_row(option: click.Option, context: click.Context) -> tuple[str, str]:
    """Return an option and its text: what it does, its choices, its default and range, its environment variable."""
    record = option.get_help_record(context)
    if record is None:
        raise LookupError(option.name)
    text, notes = record[1], []
    while (found := _NOTE.search(text)) is not None:
        notes.append(found[1])
        text = text[: found.start()]
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    if choices:
        text += f" One of {', '.join(f'``{one}``' for one in choices)}."
    names = "/".join(" ".join(names) for names in (option.opts, option.secondary_opts) if names)
    taken = "" if option.is_flag or option.count else f" {_metavar(option)}"
    return code(names + taken), " ".join([plain(text), *map(_note, reversed(notes))])


def _metavar(option: click.Option) -> str:
    """Return what an option takes, in a word; settings say only that they take something."""
    given = option.metavar or option.type.name.upper().removesuffix(" RANGE")
    return {"...": "VALUE", "CHOICE": "NAME"}.get(given, given)


def _note(note: str) -> str:
    """Return the part of a help text in brackets, in words."""
    if variable := _VARIABLE.match(note):
        return f"Variable {code(variable[1])}{plain(variable[2] or '')}."
    return " ".join(_fact(part.strip()) for part in note.split(";"))


def _fact(part: str) -> str:
    if part.startswith("default: "):
        return f"Default: {code(part.removeprefix('default: '))}."
    return f"Range: {code(part)}." if re.search(r"[<>]=?", part) else f"{plain(part)}."


def module_commands(_: str) -> str:
    """Return the commands of ``python -m dither``, each as a section with its own help."""
    return "\n".join(f"## python -m dither {name}\n\n```text\n{_help_of(name)}```\n" for name in (*USERS, *DEVELOPERS))


def _help_of(name: str) -> str:
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        main([name, "--help"])
    return said.getvalue()
