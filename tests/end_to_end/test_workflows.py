"""Workflows, hooks and editor settings name only what exists. They are read here, not run."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def loaded(path: Path) -> Any:
    return pytest.importorskip("yaml", reason="PyYAML is not installed").safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_only_read_and_jobs_have_only_the_permissions_they_need(path: Path) -> None:
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    may = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    attest = {"id-token": "write", "attestations": "write"}
    release = {"attest": attest, "pypi": {"id-token": "write"}, "page": {"contents": "write"}}
    assert may == {"test": {}, "release": release}[path.stem]
    assert "secrets." not in path.read_text(encoding="utf-8")
    assert all(job["timeout-minutes"] <= 60 for job in workflow["jobs"].values())
    assert all(job.get("needs") for name, job in workflow["jobs"].items() if name in may), "nothing is published unseen"


def test_workflows_run_targets_and_files_that_exist() -> None:
    steps = [step for path in WORKFLOWS for job in loaded(path)["jobs"].values() for step in job["steps"]]
    lines = " ".join(step.get("run", "") for step in steps)
    for script in ("run", "artefacts"):
        assert f".ci/{script}" in lines
        assert (ROOT / ".ci" / script).stat().st_mode & 0o100
    assert (ROOT / "tests/release/__main__.py").is_file()
    assert all((ROOT / folder).is_dir() for folder in re.findall(r"tests/\w+", lines))


def test_the_suite_runs_on_every_version_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    test = loaded(ROOT / ".github/workflows/test.yml")["jobs"]
    assert test["suite"]["strategy"]["matrix"]["python"] == promised
    assert test["client"]["strategy"]["matrix"]["python"] == [promised[0], promised[-1]]


def test_failing_line_ends_its_step_on_windows() -> None:
    jobs = [job for path in WORKFLOWS for job in loaded(path)["jobs"].values()]
    matrices = [str(job.get("strategy", {}).get("matrix", "")) + job["runs-on"] for job in jobs]
    (client,) = (job for job, where in zip(jobs, matrices, strict=True) if "windows" in where)
    assert client["defaults"]["run"]["shell"] == "bash"


def test_the_bill_lists_every_extra_that_is_used() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (listed,) = re.findall(r"^extras=(.*)$", (ROOT / ".ci/artefacts").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*listed.split(",")} == extras.keys() - {"dev", "docs", "mutants"}


def test_dependabot_updates_every_ecosystem_of_the_repository() -> None:
    wanted = {"pip": "pyproject.toml", "npm": "package.json", "docker": "Dockerfile"}
    wanted["github-actions"] = ".github/workflows"
    updates = loaded(ROOT / ".github/dependabot.yml")["updates"]
    assert {update["package-ecosystem"] for update in updates} == wanted.keys()
    for update in updates:
        assert (ROOT / update["directory"].strip("/") / wanted[update["package-ecosystem"]]).exists()
        assert update["schedule"] == {"interval": "weekly"}
        assert update["cooldown"] == {"default-days": 7}
        assert len(update["groups"]) == 1


def test_hooks_run_what_make_lint_runs_on_every_commit() -> None:
    """Not on the staged files alone: types and import contracts are those of the whole project."""
    make = (ROOT / "Makefile").read_text("utf-8")
    (folder,) = re.findall(r"^BIN := (\S+)$", make, re.MULTILINE)
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", make, re.MULTILINE)
    config = loaded(ROOT / ".pre-commit-config.yaml")
    (repository,) = config["repos"]
    assert repository["repo"] == "local"  # nothing is downloaded
    hooks = repository["hooks"]
    commands = [line.strip() for line in recipe.replace("$(BIN)", folder).splitlines()]
    assert [hook["entry"] for hook in hooks] == commands
    assert len(commands) >= 4
    for hook in hooks:
        assert (hook["language"], hook["always_run"], hook["pass_filenames"]) == ("system", True, False)
