"""Run a page: its blocks in order, in a fresh folder with a home of its own, in one shell.

``python -m tests.docs.run [PAGE ...]`` runs pages; without a page, it lists the blocks that are not run.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forkserver import stubs

from .blocks import Block, PageError, blocks_of, mistake_in
from .pages import PAGES, ROOT
from .script import DEFAULT_PORTS, free_ports, ports_of, script_of, with_ports

LIMIT = 900.0
"""Seconds that a page may take on a machine that does much else; it should take 20 on one at rest."""

_SHOWN = 40
_KEPT = ("LANG", "SSL_CERT_FILE", "SYSTEMROOT")
_NUMBER = r"[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d\d?(?!\w))?"
_PART = re.compile(
    rf"(?P<anything>…)|(?P<date>\d{{4}}-\d\d-\d\d)|(?P<number>{_NUMBER})|(?P<space>\s+)|(?P<text>[^…\d\s]+|.)"
)
_PATTERNS = {
    "anything": r".*(?!(?<=\d)[.,]?\d|(?<=\d[.,])\d)",  # it ends within no number
    "date": r"\d{4}-\d\d-\d\d",
    "number": rf"({_NUMBER})(?!\d)",
}
_FACTOR = Decimal("1.25")
"""Half widths of intervals are within this factor of each other where all other fractions vary."""


class Run(NamedTuple):
    """The outcome of a page."""

    problems: list[str]
    """What failed, each with its line; empty if the page holds."""
    skipped: str
    """Where it ended for want of a program; "" if it did not."""


def run_page(page: Path, limit: float = LIMIT) -> Run:
    """Run a page's blocks, and compare what they print. Nothing that it starts outlives the call."""
    try:
        blocks = blocks_of(page.read_text(encoding="utf-8"))
    except PageError as error:
        return Run([str(error)], "")
    problems = [
        f"line {block.line} ({block.language}): {mistake}" for block in blocks if (mistake := mistake_in(block))
    ]
    if problems or not any(block.runs for block in blocks):
        return Run(problems, "")
    here, skipped = _until_a_need(blocks)
    with tempfile.TemporaryDirectory(prefix="page-", ignore_cleanup_errors=True) as folder:
        return Run(_run(here, Path(folder), limit), skipped)


def _until_a_need(blocks: Sequence[Block]) -> tuple[Sequence[Block], str]:
    """Return the blocks above the first one whose program is missing, and the place of that one."""
    for number, block in enumerate(blocks):
        for program in block.needs:
            if shutil.which(program, path=_path()) is None:
                return blocks[:number], f"from line {block.line} on: {program} is not there"
    return blocks, ""


def _run(blocks: Sequence[Block], folder: Path, limit: float) -> list[str]:
    run, work = folder / "run", folder / "work"
    for one in (run, work, folder / "home", folder / "tmp"):
        one.mkdir()
    folder.chmod(0o711)  # a database that a page starts may belong to another user, and read a file here
    (folder / "tmp").chmod(0o1777)
    (folder / "home" / "dither").symlink_to(ROOT)  # where pages take a reader's checkout to be
    texts = [block.text for block in blocks]
    script = run / "page.sh"
    with free_ports(ports_of(texts) | DEFAULT_PORTS) as free, (run / "shell.out").open("wb") as stream:
        script.write_text(script_of(blocks, run, free), encoding="utf-8")
        what = _came_of(script, work, _environment(folder), stream, limit)
        return _problems(blocks, run, what, free)


def _came_of(script: Path, work: Path, environment: Mapping[str, str], stream: BinaryIO, limit: float) -> str:
    """Run the script, and return how it ended; all that it has started ends with it."""
    with subprocess.Popen(
        ["bash", str(script)], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
        start_new_session=True,
    ) as shell:  # fmt: skip
        try:
            return f"status {shell.wait(limit)}"
        except subprocess.TimeoutExpired:
            return f"still runs after {limit:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)


def _problems(blocks: Sequence[Block], run: Path, what: str, free: Mapping[str, str]) -> list[str]:
    at = _text(run / "at").strip()
    problems = [problem for number, block in enumerate(blocks) if (problem := _misprint(block, number, at, run, free))]
    if at == "end":
        problems.append(f"at the end: {what}\n{_text(run / 'end.out')}")
    elif at != "ended":
        block = blocks[int(at)] if at else blocks[0]
        printed = _text(run / f"{at}.out") + _text(run / "shell.out")
        problems.append(f"line {block.line} ({block.language}): {what}\n{_last_lines(printed)}")
    return problems


def _misprint(block: Block, number: int, at: str, run: Path, free: Mapping[str, str]) -> str:
    if block.output is None or at == str(number) or not (run / f"{number}.out").exists():
        return ""
    printed = _text(run / f"{number}.out")
    line = missing_line(with_ports(block.output.text, free), printed, bool(block.output.varies))
    return line and f"line {block.output.line} (output): no such line: {line}\nPrinted was:\n{_last_lines(printed)}"


def _last_lines(printed: str) -> str:
    return "\n".join(printed.splitlines()[-_SHOWN:])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _environment(folder: Path) -> dict[str, str]:
    """Return a person's environment: nothing of CI or pytest, no choice made, the programs of this environment."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment = {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),  # temporary files of a page are deleted with it, and pytest deletes only its own
        "PATH": os.pathsep.join(filter(None, [stubs(), _path()])),
        "PYTHONUNBUFFERED": "1",
        "MPLCONFIGDIR": str(Path(sys.prefix, "matplotlib")),  # its list of fonts takes seconds to make
    }
    return {"LANG": "C.UTF-8", **kept, **environment}


def missing_line(expected: str, printed: str, varies: bool = False) -> str:
    """Return the first line of ``expected`` that ``printed`` lacks, below those before it; "" if all are there.

    Any date stands for a date, any white space for white space, and … for anything; lines may come between. Fractions
    agree to one in the last digit that is shown. If they vary, any will do, but half widths of intervals (in a column
    headed ±, or behind a ±) agree within a factor. Whole numbers are equal.
    """
    lines = iter(printed.splitlines())
    column = -1
    for wanted in filter(str.strip, expected.splitlines()):
        if "±" in wanted and not re.search(r"\d", wanted):
            column = wanted.index("±") + 1
        if wanted.strip() != "…" and not any(_agree(wanted.rstrip(), line, varies, column) for line in lines):
            return wanted.strip()
    return ""


def _agree(wanted: str, line: str, varies: bool, column: int) -> bool:
    parts = [part for part in _PART.finditer(wanted) if part.start() or part.lastgroup != "space"]
    patterns = {**_PATTERNS, "space": r"\s*" if "…" in wanted else r"\s+"}
    match = re.fullmatch(
        "".join(patterns.get(part.lastgroup or "") or re.escape(part[0]) for part in parts), line.strip()
    )
    numbers = [part for part in parts if part.lastgroup == "number"]
    return match is not None and all(
        _near(part[0], number, varies, part.end() == column or wanted[: part.start()].endswith("± "))
        for part, number in zip(numbers, match.groups(), strict=True)
    )


def _near(wanted: str, number: str, varies: bool, is_half_width: bool) -> bool:
    """Return whether a number that is printed agrees with the one that a page shows."""
    if not re.search("[.e]", wanted + number):
        return wanted == number
    one, other = (Decimal(text.replace(",", "").replace("−", "-")) for text in (wanted, number))
    if varies:
        return not is_half_width or max(one, other) <= _FACTOR * min(one, other)
    return abs(one - other) <= Decimal((0, (1,), int(one.as_tuple().exponent)))


def not_run() -> list[str]:
    """Return the blocks of all pages that are not run: where, and why."""
    return [
        f"{page}:{block.line}: {block.not_run}"
        for page in PAGES
        for block in blocks_of((ROOT / page).read_text(encoding="utf-8"))
        if block.not_run
    ]


def main(pages: list[str]) -> int:
    """Run pages, print what fails of each, and return the exit status."""
    failed = 0
    for page in pages:
        began = time.monotonic()
        run = run_page(Path(page))
        failed += bool(run.problems)
        said = "fails" if run.problems else f"skipped {run.skipped}" if run.skipped else "holds"
        print(f"{page}: {said} ({time.monotonic() - began:.1f} s)", *run.problems, sep="\n  ")
    if not pages:
        print(*not_run(), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
