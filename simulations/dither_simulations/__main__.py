"""``dither-sim``, or ``python -m dither_simulations``."""

import json
import os
import sys
from collections.abc import Mapping

from dither_shared.standard_output import written_whole

_ASKED = "DITHER_SIM_UVX"
"""Environment variable that is set for the run under uvx, so that a package still missing there does not loop."""


def main() -> None:
    """Run the command line.

    If its packages are missing, say in one line what to install. Under ``uvx``, which fetches what a program needs,
    start again with them: ``uvx --from . dither-sim`` cannot know that a command has an extra.
    """
    try:
        from .cli import main as command  # noqa: PLC0415 — what it imports may not be installed

        with written_whole("dither-sim"):
            command(prog_name="dither-sim")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0].startswith("dither"):
            raise
        again = _with_the_extra(os.environ)
        if again:
            print(f"dither-sim: uvx can install what the extra needs: {again[-1]}", file=sys.stderr)
            os.execve(again[0], [*again, "dither-sim", *sys.argv[1:]], {**os.environ, _ASKED: "1"})  # noqa: S606 — uv's own path
        sys.exit("dither-sim needs: pip install 'dither[simulations]', or: uvx --from 'dither[simulations]' dither-sim")


def _with_the_extra(environ: Mapping[str, str]) -> list[str]:
    """Return the uvx command that runs a program of this distribution with the extra; empty if uvx does not run us."""
    if "UV" not in environ or "UV_RUN_RECURSION_DEPTH" in environ or _ASKED in environ:  # `uv run` sets the second
        return []
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return [environ["UV"], "tool", "run", "--python", version, "--from", f"dither[simulations]{_origin()}"]


def _origin() -> str:
    """Return the version specifier or the direct reference (a folder, archive or commit) of this distribution."""
    from importlib.metadata import distribution  # noqa: PLC0415 - help would wait for it

    this = distribution("dither")
    direct = this.read_text("direct_url.json")
    if direct is None:
        return f"=={this.version}"
    source = json.loads(direct)
    commit = source.get("vcs_info")
    return f" @ {commit['vcs']}+{source['url']}@{commit['commit_id']}" if commit else f" @ {source['url']}"


if __name__ == "__main__":
    main()
