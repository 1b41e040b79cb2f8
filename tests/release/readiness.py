"""What must agree before a version is published: its tag, the packages' versions, the changelog, the licence."""

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

__all__ = ["GAP", "notes", "problems"]

GAP = "**This is a gap to fill.**"
"""How SECURITY.md says that nobody is named yet who takes reports."""

_SECTION = re.compile(r"^## (?P<heading>.+)\n(?P<text>(?:(?!^## ).*\n?)*)", re.MULTILINE)
_HEADING = re.compile(r"(?P<version>\S+) \((?P<date>\d{4}-\d{2}-\d{2})\)")
_UNRELEASED = "Unreleased"


def problems(root: Path, tag: str, today: date | None = None) -> list[str]:
    """Return what keeps the commit at ``root`` from being released as ``tag``; nothing if it is ready.

    ``today`` is the present day in UTC by default: a changelog of tomorrow is a mistake.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag!r} where pyproject.toml's version asks for 'v{version}'")
    page = json.loads((root / "client/js/package.json").read_text(encoding="utf-8"))["version"]
    if page != version:
        found.append(f"client/js/package.json: the version is {page!r} where pyproject.toml says {version!r}")
    if "license" not in project or not any(root.glob("LICEN[CS]E*")):
        found.append("no licence is given: the owner chooses one, adds LICENSE and names it in pyproject.toml")
    if GAP in (root / "SECURITY.md").read_text(encoding="utf-8"):
        found.append("SECURITY.md names nobody who takes reports of vulnerabilities")
    return found + list(_of_changelog(root, version, today or datetime.now(UTC).date()))


def notes(root: Path, version: str) -> str:
    """Return what CHANGELOG.md says of a version, without its heading; nothing if it does not name it."""
    for heading, text in _sections(root):
        found = _HEADING.fullmatch(heading)
        if found and found["version"] == version:
            return text
    return ""


def _of_changelog(root: Path, version: str, today: date) -> Iterator[str]:
    sections = _sections(root)
    if dict(sections).get(_UNRELEASED):
        yield f"CHANGELOG.md: what stands under '{_UNRELEASED}' belongs under '{version} ({today})'"
    dated = [heading for heading, _ in sections if heading != _UNRELEASED]
    newest = _HEADING.fullmatch(dated[0]) if dated else None
    if newest is None or newest["version"] != version:
        yield f"CHANGELOG.md: its newest heading must be '## {version} ({today})'"
        return
    try:
        day = date.fromisoformat(newest["date"])
    except ValueError:
        yield f"CHANGELOG.md: {newest['date']} is no day"
        return
    if day > today:
        yield f"CHANGELOG.md: {day} is yet to come; today is {today}"
    if not notes(root, version):
        yield f"CHANGELOG.md: it says nothing of {version}"


def _sections(root: Path) -> list[tuple[str, str]]:
    """Return the headings of the second level and the text below each, in the order of the file."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return [(found["heading"].strip(), found["text"].strip()) for found in _SECTION.finditer(text)]
