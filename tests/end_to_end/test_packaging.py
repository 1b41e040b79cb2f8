"""One distribution: the client alone needs no package, and the other commands name the packages that they need."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = [str(ROOT / floor) for floor in ("shared", "client", "server", "simulations")]


def bare(code: str) -> subprocess.CompletedProcess[str]:
    """Run code with this project and the standard library, and nothing that is installed."""
    start = f"import sys; sys.path[:0] = {FLOORS!r}; "
    command = [sys.executable, "-I", "-S", "-c", start + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_client_runs_on_the_standard_library_alone() -> None:
    done = bare("import dither; dither.Client({}, 'http://127.0.0.1:9', 'app', dither.MemoryState()).close()")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "extra"),
    [("dither_server", "server"), ("dither_relay", "server"), ("dither_simulations", "simulations")],
)
def test_the_commands_say_what_to_install(module: str, extra: str) -> None:
    done = bare(f"from {module}.__main__ import main; main()")
    assert done.returncode == 1
    assert f"needs: pip install 'dither[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [PurePosixPath(path) for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
STEM = f"dither-{PROJECT['project']['version']}"


def build(source: Path, out: Path) -> dict[str, bytes]:
    """Build sdist and wheel; return the bytes of each by its name."""
    pytest.importorskip("hatchling", reason="pip install hatchling")
    kept = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    done = subprocess.run(command, cwd=source, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an sdist and a wheel."""
    folder = tmp_path_factory.mktemp("made")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def sdist(made: Path) -> Mapping[str, bytes]:
    """The files of the sdist, by their paths in the repository."""
    with tarfile.open(made / f"{STEM}.tar.gz") as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        return {one.name.partition("/")[2]: file.read() for one, file in members if file is not None}


@pytest.fixture(scope="module")
def wheel(made: Path) -> Mapping[str, bytes]:
    with zipfile.ZipFile(made / f"{STEM}-py3-none-any.whl") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow  # builds what CI publishes
def test_the_sdist_is_the_repository(sdist: Mapping[str, bytes]) -> None:
    """So its tests find the files that they read: workflows, documentation, vectors, the client for JavaScript."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    assert sdist.keys() - {"PKG-INFO"} == {name for name in names if (ROOT / name).is_file()}


def test_the_wheel_is_the_packages_whole(sdist: Mapping[str, bytes], wheel: Mapping[str, bytes]) -> None:
    """It has templates, styles, data and the markers of typed packages."""
    expected = {
        str(PurePosixPath(name).relative_to(package.parent)): content
        for name, content in sdist.items()
        for package in PACKAGES
        if PurePosixPath(name).is_relative_to(package)
    }
    assert {name: content for name, content in wheel.items() if ".dist-info/" not in name} == expected
    assert {f"{package.name}/py.typed" for package in PACKAGES} <= wheel.keys()


def test_the_wheel_needs_nothing_unless_an_extra_is_asked_for(wheel: Mapping[str, bytes]) -> None:
    facts = Parser().parsestr(wheel[f"{STEM}.dist-info/METADATA"].decode())
    assert all(re.search(r"; .*extra == ", line) for line in facts.get_all("Requires-Dist", []))
    assert set(facts.get_all("Provides-Extra", [])) == set(PROJECT["project"]["optional-dependencies"])


@pytest.mark.slow  # builds what CI publishes, twice
def test_two_builds_of_the_same_sources_are_equal_bytes(made: Path, sdist: Mapping[str, bytes], tmp_path: Path) -> None:
    """The second build is from the sdist, in another folder, at another time."""
    with tarfile.open(made / f"{STEM}.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python has from 3.11.4 on
        archive.extractall(tmp_path)  # noqa: S202  # made here
    again = build(tmp_path / STEM, tmp_path / "again")
    assert again == {path.name: path.read_bytes() for path in made.iterdir()}


def test_distributions_do_not_contain_the_build_path(sdist: Mapping[str, bytes], wheel: Mapping[str, bytes]) -> None:
    here = str(ROOT).encode()
    assert [name for name, content in (*sdist.items(), *wheel.items()) if here in content] == []


@pytest.mark.slow  # it makes an environment; what the commands say without extras is tested above, too
def test_the_wheel_installs_alone_and_its_commands_start(made: Path, tmp_path: Path) -> None:
    """In an empty environment the client's command works, and the others name the missing extra."""
    pytest.importorskip("pip", reason="this environment has no pip")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    wheel = str(made / f"{STEM}-py3-none-any.whl")
    install = ["-m", "pip", "--python", str(programs / "python"), "install", "--no-index", "--quiet", wheel]
    subprocess.run([sys.executable, *install], check=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "UV"))}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        words = [str(programs / command[0]), *command[1:]]
        return subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    assert run("python", "-m", "dither", "--help").stdout.startswith("usage: python -m dither")
    for name, extra in (("dither-server", "server"), ("dither-relay", "server"), ("dither-sim", "simulations")):
        done = run(name, "--help")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"pip install 'dither[{extra}]'" in done.stderr
        assert len(done.stderr.splitlines()) == 1
