"""The documentation's notebook runs, and shows what it prints."""

import json

import pytest

from docs.notebook import NOTEBOOK, collector, executed


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
