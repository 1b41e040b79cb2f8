"""The command ``dither-sim report``."""

from pathlib import Path

import click

from dither_server.cli.options import workers_options

from ...options.common import new_file
from .sections import SECTIONS

__all__ = ["report"]


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=new_file(".html"),
    default="report.html",
    show_default=True,
    help="Write the page to this file. Run the command again to go on after an interruption.",
)
@click.option(
    "--only",
    type=click.Choice([section.name for section in SECTIONS]),
    multiple=True,
    help="Write this section only; repeatable.",
)
@click.option("--quick", is_flag=True, help="Run fewer trials: about a minute.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Draw from this seed: same seed, same numbers.",
)
@workers_options()
@click.option("--json", "as_json", is_flag=True, help="Print all data as JSON, too.")
@click.pass_context
def report(
    context: click.Context,
    out: Path,
    only: tuple[str, ...],
    quick: bool,
    seed: int,
    jobs: int,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Write one HTML file with every figure, its data, and the command that makes it again. The file loads nothing."""
    import shutil

    from tqdm import tqdm

    from ...output.files import json_text, write_bytes
    from .page import page
    from .running import carry_out

    folder = out.with_name(f"{out.name}.parts")
    folder.mkdir(exist_ok=True)
    chosen = [section for section in SECTIONS if section.name in only or not only]
    how = ["--jobs", str(jobs), *(("--scheduler", scheduler) if scheduler else ())]
    with tqdm(total=len(chosen), unit="section", disable=None, leave=False) as bar:
        shown = carry_out(context.find_root().command, chosen, folder, seed, quick, how, bar.update)
    given = [*(word for name in only for word in ("--only", name)), *(["--quick"] if quick else [])]
    write_bytes(out, page(shown, seed, " ".join(["dither-sim report", *given, "--seed", str(seed)])))
    shutil.rmtree(folder)
    if as_json:
        click.echo(json_text({one.section.name: one.rows for one in shown}))
    else:
        click.echo(f"{out}: {len(shown)} sections, {out.stat().st_size / 1e6:.1f} MB.")
