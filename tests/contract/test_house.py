"""The structure of the code: two levels of folders, modules that justify a separate file, short functions."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [
    path.parent
    for side in ("shared", "client", "server", "simulations")
    for path in sorted((ROOT / side).glob("*/__init__.py"))
]
MODULES = {
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in sorted(package.rglob("*.py"))
}
LISTS = {"mechanisms", "questions", "summaries", "samplers", "cli"}
"""Folders of one module per item: commands, and what a registry imports."""

ENTRIES = {"__init__.py", "__main__.py", "app.py", "cli.py", "command.py", "pytest_plugin.py", "wsgi.py"}
"""Entry points of programs, servers and commands."""

PUBLIC = {"dither", "dither_shared", "dither_server", "dither_relay", "dither_simulations"}
HANDED_ON = {
    *("dither.cli", "dither_relay.store", "dither_server.store", "dither_simulations.samplers"),
    "dither_shared.primitives.digests",
}
"""Modules that re-export names, which mypy requires to be listed."""

SMALL = 70
LONELY = 2
"""Small modules with one importer; merge one into its importer before you add another."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def imported(name: str, path: Path) -> Iterator[str]:
    """Yield what a module imports, at its top or inside a function."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def test_packages_have_at_most_two_levels_of_folders_with_docstrings() -> None:
    # a package, two folders and a module are four parts
    assert [name for name, path in MODULES.items() if len(name.split(".")) > 3 + (path.name != "__init__.py")] == []
    folders = {name: path for name, path in MODULES.items() if path.name == "__init__.py"}
    assert [name for name, path in folders.items() if not ast.get_docstring(tree(path))] == []


def test_small_modules_have_two_importers() -> None:
    importers = defaultdict(set)
    for name, path in MODULES.items():
        for target in imported(name, path):
            importers[target].add(name)
    lonely = [
        f"{name}: {lines(path)} lines, imported by {', '.join(importers[name]) or 'none'}"
        for name, path in MODULES.items()
        if path.name not in ENTRIES and path.parent.name not in LISTS and lines(path) < SMALL
        if len(importers[name] - {name}) < 2
    ]
    assert len(lonely) <= LONELY, lonely


def test_functions_have_fewer_than_40_lines() -> None:
    long = [
        f"{name}.{node.name}"
        for name, path in MODULES.items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.body[0].lineno >= 40
    ]
    assert long == []


def test_only_re_exporting_modules_define_all() -> None:
    defining = {name for name, path in MODULES.items() if "\n__all__" in path.read_text(encoding="utf-8")}
    assert defining <= PUBLIC | HANDED_ON


def test_map_in_contributing_names_every_folder() -> None:
    shown = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [path.name for package in PACKAGES for path in package.iterdir() if any(path.glob("*.py"))]
    assert [name for name in rooms if f"{name}/" not in shown and f"`{name}`" not in shown] == []
