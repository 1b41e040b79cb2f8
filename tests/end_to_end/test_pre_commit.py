"""Walks .pre-commit-config.yaml and the Makefile: both must run the same lint commands."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lint_of_make() -> list[str]:
    """Return the commands of the target ``lint``, variables filled in."""
    text = (ROOT / "Makefile").read_text("utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    folder = re.search(r"^BIN := (\S+)$", text, re.MULTILINE)
    assert recipe
    assert folder
    return [line.strip().replace("$(BIN)", folder[1]) for line in recipe[1].splitlines()]


def hooks() -> list[dict[str, str]]:
    """Return the keys of each hook; the file is flat enough to be read by lines."""
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    return [dict(re.findall(r"(\w+): (.+)", f"id: {hook}")) for hook in text.split("- id: ")[1:]]


def test_hooks_run_what_make_lint_runs() -> None:
    commands = lint_of_make()
    assert len(commands) >= 4
    assert [hook["entry"] for hook in hooks()] == commands


def test_hooks_run_on_every_commit_with_the_tools_of_the_environment() -> None:
    """Not on the staged files alone: types and import contracts are those of the whole project."""
    for hook in hooks():
        assert (hook["language"], hook["always_run"], hook["pass_filenames"]) == ("system", "true", "false")
    assert (ROOT / ".pre-commit-config.yaml").read_text("utf-8").count("repo: ") == 1  # local: nothing is downloaded
