"""Every page of the documentation is run as it stands."""

import pytest

from docs.blocks import blocks_of, mistake_in
from docs.pages import NOT_RUN, PAGES, ROOT, SLOW
from docs.run import not_run
from docs.running import run_page


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
