"""A release is refused by name as long as anything is missing, and only then."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from release.readiness import GAP, notes, problems

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 22)
HEADING = "## 0.2.0 (2026-11-22)"
CHANGES = (
    f"# Changelog\n\n## Unreleased\n\n{HEADING}\n\n### The client\n- Answers more.\n\n"
    "## 0.1.0 (2026-10-01)\n- Begins.\n"
)
READY = {
    "pyproject.toml": '[project]\nname = "dither"\nversion = "0.2.0"\nlicense = "MIT"\n',
    "client/js/package.json": '{"version": "0.2.0"}',
    "LICENSE": "as is\n",
    "SECURITY.md": "# Security\n\nWrite to security@example.org.\n",
    "CHANGELOG.md": CHANGES,
}


def repository(folder: Path, **changed: str) -> Path:
    """A repository that is ready for v0.2.0 but for what is changed, by the names of files."""
    for name, text in READY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.pop(path.stem, text), encoding="utf-8")
    assert not changed
    return folder


def test_release_notes_are_the_changelog_of_the_version(tmp_path: Path) -> None:
    root = repository(tmp_path)
    assert problems(root, "v0.2.0", TODAY) == []
    assert notes(root, "0.2.0") == "### The client\n- Answers more."
    assert notes(root, "0.1.0") == "- Begins."
    assert notes(root, "0.3.0") == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"package": '{"version": "0.1.0"}'}, "client/js/package.json: the version is '0.1.0'"),
        ({"pyproject": '[project]\nversion = "0.2.0"\n'}, "no licence is given"),
        ({"SECURITY": f"# Security\n\n{GAP} Later.\n"}, "SECURITY.md names nobody"),
        ({"CHANGELOG": "# Changelog\n"}, "its newest heading must be '## 0.2.0 (2026-11-22)'"),
        ({"CHANGELOG": CHANGES.replace(HEADING, "## 0.2.0")}, "its newest heading must be"),
        ({"CHANGELOG": CHANGES.replace(HEADING, "## 0.3.0 (2026-11-22)")}, "its newest heading must be"),
        ({"CHANGELOG": CHANGES.replace(HEADING, "## 0.2.0 (2026-02-30)")}, "2026-02-30 is no day"),
        ({"CHANGELOG": CHANGES.replace(HEADING, "## 0.2.0 (2026-11-23)")}, "2026-11-23 is yet to come"),
        ({"CHANGELOG": "## 0.2.0 (2026-11-22)\n\n## 0.1.0 (2026-10-01)\n- Begins.\n"}, "it says nothing of 0.2.0"),
        ({"CHANGELOG": CHANGES.replace("Unreleased\n", "Unreleased\n- More.\n")}, "belongs under '0.2.0 (2026-11-22)'"),
    ],
)
def test_readiness_names_the_missing_part(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    (problem,) = problems(repository(tmp_path, **changed), "v0.2.0", TODAY)
    assert said in problem


def test_the_tag_is_the_version_and_the_licence_a_file(tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / "LICENSE").unlink()
    wrong, unlicensed = problems(root, "0.2.0", TODAY)
    assert wrong == "the tag is '0.2.0' where pyproject.toml's version asks for 'v0.2.0'"
    assert unlicensed.startswith("no licence is given")


def test_this_repository_has_one_version_and_is_asked_by_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.release", "v0.0.0"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "not ready for v0.0.0: the tag is 'v0.0.0'" in done.stderr
    assert "package.json" not in done.stderr, "both packages have one version"
