"""Every page of the documentation, its notebook and its example of a published site come out as they stand there."""

import json
import re
from math import isclose
from pathlib import Path

import pytest

from docs.blocks import blocks_of, mistake_in
from docs.notebook import NOTEBOOK, collector, executed
from docs.pages import NOT_RUN, PAGES, ROOT, SLOW
from docs.run import not_run, run_page
from published_example import publish_example

KEPT = ROOT / "docs/published/answers"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES])
def test_documentation_page_runs_as_it_stands(page: str) -> None:
    run = run_page(ROOT / page)
    assert not run.problems, "\n".join(f"{page}: {problem}" for problem in run.problems)
    if run.skipped:
        pytest.skip(f"{page} {run.skipped}")


def test_blocks_of_slow_pages_parse() -> None:
    assert set(PAGES) >= SLOW.keys()
    mistakes = [
        f"{page}:{block.line}: {mistake}"
        for page in SLOW
        for block in blocks_of((ROOT / page).read_text(encoding="utf-8"))
        if (mistake := mistake_in(block))
    ]
    assert not mistakes, "\n".join(mistakes)


def test_few_blocks_are_not_run() -> None:
    assert len(not_run()) <= NOT_RUN, "\n".join(not_run())


def test_the_notebook_shows_what_its_cells_print() -> None:
    pytest.importorskip("matplotlib")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with collector() as url:
        outputs = executed(notebook, url)
    for place, (cell, found) in enumerate(zip(cells, outputs, strict=True)):
        assert cell["execution_count"] == place + 1
        assert [output["output_type"] for output in cell["outputs"]] == [output["output_type"] for output in found]
        assert [output.get("text") for output in cell["outputs"]] == [output.get("text") for output in found]
        for shown, made in zip(cell["outputs"], found, strict=True):
            if shown["output_type"] == "execute_result":
                assert shown["data"] == made["data"]


def files_of(site: Path) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes().decode("utf-8")
        for path in site.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow  # makes the whole published example
def test_example_site_is_reproduced_byte_for_byte(tmp_path: Path) -> None:
    """Numbers may differ in the last places, because processors add them up in different orders."""
    publish_example(tmp_path / "site")
    made, kept = files_of(tmp_path / "site"), files_of(KEPT)
    assert made.keys() == kept.keys(), "make example"
    for name, text in kept.items():
        assert NUMBER.sub("#", made[name]) == NUMBER.sub("#", text), f"{name}: make example"
        pairs = zip(NUMBER.findall(made[name]), NUMBER.findall(text), strict=True)
        assert all(isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-9) for one, other in pairs), name


def test_example_site_is_small() -> None:
    assert sum(path.stat().st_size for path in KEPT.rglob("*") if path.is_file()) < 600_000
