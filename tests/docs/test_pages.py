"""Every page of the documentation is run as it stands."""

import pytest

from docs.pages import NOT_RUN, PAGES, ROOT
from docs.run import not_run
from docs.running import run_page


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str) -> None:
    run = run_page(ROOT / page)
    assert not run.problems, "\n".join(f"{page}: {problem}" for problem in run.problems)
    if run.skipped:
        pytest.skip(f"{page} {run.skipped}")


def test_few_blocks_are_not_run() -> None:
    assert len(not_run()) <= NOT_RUN, "\n".join(not_run())
