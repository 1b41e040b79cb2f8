"""Execute the documentation's notebook against a collector, without Jupyter: its code is plain Python.

``python -m tests.docs.notebook`` (with PYTHONPATH=tests) writes its outputs again.
"""

import ast
import base64
import contextlib
import io
import json
import random
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from dither_server.store import Store, Upload
from dither_shared import KeyedEntropy, Metric, Report, parse_metrics
from docs.pages import ROOT
from server.collecting import running

NOTEBOOK = ROOT / "docs" / "_static" / "answers.ipynb"
URL = "http://127.0.0.1:8000"
"""The collector that the notebook names; each run has one on a port of its own."""

METRICS = """
[metrics.theme]
description = "Which theme do people use?"
type = "choice"
values = ["light", "dark", "system"]
epsilon = 2.0
strata = {platform = ["linux", "windows", "macos"]}

[metrics.startup]
description = "How long does the app take to start?"
type = "number"
low = 0
high = 20
unit = "s"
epsilon = 2.0
strata = {platform = ["linux", "windows", "macos"]}
"""
POPULATION = 'source = "Downloads of November 2026"\n[margins.platform]\nlinux = 0.2\nwindows = 0.5\nmacos = 0.3\n'
PEOPLE = {"linux": (300, 0.6, 3.0), "windows": (150, 0.3, 7.0), "macos": (180, 0.4, 5.0)}
"""Reports of a day, the share of the dark theme, and the mean time to start, on each platform."""

LAST = date(2026, 11, 29)


def fill(folder: Path) -> None:
    """Count four weeks of simulated reports."""
    people, noise = random.Random(1), KeyedEntropy(b"of a notebook")
    theme, startup = parse_metrics(METRICS).values()

    def rows(metric: Metric, answers: Sequence[object]) -> bytes:
        found = b""
        for answer in answers:
            item, cohort = metric.answers.encode(answer).rounded(noise), metric.mechanism.draw_cohort(noise)
            found += Report(cohort, metric.mechanism.randomize(item, noise, cohort)).encode(metric.mechanism)
        return found

    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register([theme, startup])
        for ago in range(28):
            uploads = []
            for place, (reports, dark, seconds) in enumerate(PEOPLE.values()):
                risen = dark + 0.1 * (ago < 14)
                themes = people.choices(["light", "dark", "system"], [0.8 - risen, risen, 0.2], k=reports)
                times = [min(max(people.gauss(seconds, 1.5), 0), 20) for _ in range(reports)]
                uploads += [
                    Upload(secrets.token_bytes(16), metric, rows(metric, answers), place)
                    for metric, answers in ((theme, themes), (startup, times))
                ]
            store.commit(uploads, LAST - timedelta(days=ago), b"s" * 16)


def executed(notebook: Mapping[str, Any], url: str) -> list[list[dict[str, Any]]]:
    """Return the outputs of the code cells, run one after another in one namespace. Raises what they raise."""
    import matplotlib  # noqa: PLC0415 - before pyplot

    matplotlib.use("agg")
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [_outputs("".join(cell["source"]).replace(URL, url), names, place + 1) for place, cell in enumerate(cells)]


def _outputs(code: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    from matplotlib import pyplot  # noqa: PLC0415 - after its backend is chosen

    tree, shown = ast.parse(code), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - our own notebook
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    figures = [pyplot.figure(place) for place in pyplot.get_fignums()]
    for figure in figures:
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(image.getvalue()).decode(), "text/plain": ["<Figure>"]}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    pyplot.close("all")
    if shown is not None and not figures:
        data = {"text/plain": repr(shown).splitlines(keepends=True)}
        if hasattr(shown, "_repr_html_"):
            data["text/html"] = [shown._repr_html_()]
        found.append({"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": number})
    return found


@contextlib.contextmanager
def collector() -> Any:
    """Run a collector with the sample, and yield its URL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        (folder / "population.toml").write_text(POPULATION, encoding="utf-8")
        with running(folder, "--population", str(folder / "population.toml"), toml=METRICS) as (url, _):
            yield url


def main() -> None:
    """Write the outputs into the notebook."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    with collector() as url:
        outputs = executed(notebook, url)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for place, (cell, found) in enumerate(zip(cells, outputs, strict=True)):
        cell["outputs"], cell["execution_count"] = found, place + 1
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
