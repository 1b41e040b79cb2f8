"""Check blocks that are not run: they can be parsed, and metrics can be loaded."""

import configparser
import json
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

from dither_shared import load_metrics

from .blocks import Block

__all__ = ["mistake_in"]


def mistake_in(block: Block) -> str:
    """Return in words why a block cannot be what its language says; "" if it can."""
    check = _CHECKS.get(block.language)
    if check is None:
        return ""
    try:
        check(block.text)
    except Exception as error:  # each parser has errors of its own
        return f"{type(error).__name__}: {error}"
    return ""


def _shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SyntaxError(done.stderr.strip())


def _python(text: str) -> None:
    compile(text, "block", "exec", dont_inherit=True)


def _toml(text: str) -> None:
    if "metrics" not in tomllib.loads(text) or isinstance(tomllib.loads(text)["metrics"], str):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "metrics.toml")
        path.write_text(text, encoding="utf-8")
        load_metrics(path)


def _ini(text: str) -> None:
    configparser.RawConfigParser(strict=False, allow_no_value=True).read_string(text)


_CHECKS: dict[str, Callable[[str], object]] = {
    "sh": _shell,
    "python": _python,
    "toml": _toml,
    "ini": _ini,
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}
