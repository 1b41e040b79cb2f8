"""The example of a published site in the documentation is what the program makes."""

import re
from math import isclose
from pathlib import Path

import pytest

from published_example import publish_example

KEPT = Path(__file__).parents[2] / "docs/published/answers"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


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
