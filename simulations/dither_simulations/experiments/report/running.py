"""Run the commands of a report, each in this process, as it would run from a terminal."""

import io
import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ...output.files import write_bytes
from .sections import Section

__all__ = ["Shown", "carry_out"]


@dataclass(frozen=True)
class Shown:
    """A section with what its command printed, wrote and drew; ``picture`` is SVG, and empty where there is none."""

    section: Section
    command: str
    printed: str
    rows: list[dict[str, Any]]
    picture: bytes


def carry_out(
    main: click.Command,
    sections: Sequence[Section],
    folder: Path,
    seed: int,
    quick: bool,
    how: Sequence[str],
    step: Callable[[], object],
) -> list[Shown]:
    """Run the command of every section, or take its results from an earlier run in ``folder``.

    ``how`` holds options that change no number: who does the work. Raises ParameterError as the commands do.
    """
    shown = []
    for section in sections:
        shown.append(_show(main, section, section.command(seed, quick), folder, how))
        step()
    return shown


def _show(main: click.Command, section: Section, words: list[str], folder: Path, how: Sequence[str]) -> Shown:
    """Run one command. What it printed is written last, and so says that the rest is there."""
    data, picture, printed = (folder / f"{section.name}.{kind}" for kind in ("json", "svg", "txt"))
    command_line = shlex.join(words)
    if not _is_of(printed, command_line):
        drawn = ["--plot", str(picture)] if section.drawn else []
        text = io.StringIO()
        with redirect_stdout(text):
            main.main([*words, *how, "--out", str(data), *drawn], prog_name="dither-sim", standalone_mode=False)
        write_bytes(printed, f"{command_line}\n{text.getvalue()}".encode())
    return Shown(
        section=section,
        command=f"dither-sim {command_line}" + (f" --plot {section.name}.png" if section.drawn else ""),
        printed=printed.read_text(encoding="utf-8").partition("\n")[2].rstrip(),
        rows=json.loads(data.read_bytes()),
        picture=picture.read_bytes() if section.drawn else b"",
    )


def _is_of(printed: Path, command_line: str) -> bool:
    return printed.exists() and printed.read_text(encoding="utf-8").partition("\n")[0] == command_line
