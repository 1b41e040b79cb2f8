"""``dither_simulations/__main__.py``: what happens where the packages of the extra are missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = [str(ROOT / floor) for floor in ("shared", "client", "server", "simulations")]
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
UV = '#!/bin/sh\nprintf \'%s\\n\' "$DITHER_SIM_UVX" "$@"\n'
METADATA = "Metadata-Version: 2.1\nName: dither\nVersion: 0.1.0\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for uv is a shell script")


def bare(folder: Path, direct: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run ``dither-sim demo --users 5``, installed from ``direct``, with the standard library and a stand-in for uv."""
    uv = folder / "uv"
    uv.write_text(UV, encoding="utf-8")
    uv.chmod(0o755)
    facts = folder / "site/dither-0.1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(METADATA, encoding="utf-8")
    if direct is not None:
        (facts / "direct_url.json").write_text(json.dumps(direct), encoding="utf-8")
    code = (
        f"import sys; sys.path[:0] = {[str(folder / 'site'), *FLOORS]!r}; sys.argv[1:] = ['demo', '--users', '5']\n"
        "from dither_simulations.__main__ import main; main()"
    )
    environment = {name: value.format(uv=uv) for name, value in environ.items()}
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize(
    ("direct", "origin"),
    [
        (None, "==0.1.0"),
        ({"url": "file:///home/me/dither", "dir_info": {}}, " @ file:///home/me/dither"),
        (
            {"url": "https://example.org/dither", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            " @ git+https://example.org/dither@0a1b",
        ),
    ],
    ids=["index", "folder", "commit"],
)
def test_dither_sim_under_uvx_restarts_with_its_extra(tmp_path: Path, direct: object, origin: str) -> None:
    done = bare(tmp_path, direct, UV="{uv}")
    requirement = f"dither[simulations]{origin}"
    words = ["1", "tool", "run", "--python", VERSION, "--from", requirement, "dither-sim", "demo", "--users", "5"]
    assert (done.returncode, done.stdout.splitlines()) == (0, words), done.stderr
    assert done.stderr == f"dither-sim: uvx can install what the extra needs: {requirement}\n"


@pytest.mark.parametrize(
    "environ", [{}, {"UV": "{uv}", "UV_RUN_RECURSION_DEPTH": "1"}, {"UV": "{uv}", "DITHER_SIM_UVX": "1"}]
)
def test_dither_sim_without_its_extra_names_what_to_install(tmp_path: Path, environ: dict[str, str]) -> None:
    done = bare(tmp_path, None, **environ)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("dither-sim needs: pip install 'dither[simulations]'")
    assert len(done.stderr.splitlines()) == 1
