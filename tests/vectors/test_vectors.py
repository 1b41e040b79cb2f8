"""The vectors in the tree are those of the code, and every language can read them."""

import json
from collections.abc import Iterator
from hashlib import sha256

import pytest

from dither_shared import MECHANISMS, Shape

from .files import FILES, FOLDER
from .rendering import render


def cases(name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((FOLDER / name).read_bytes())["cases"]
    return found


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from (leaf for inner in value.values() for leaf in leaves(inner))
    elif isinstance(value, list):
        yield from (leaf for inner in value for leaf in leaves(inner))
    else:
        yield value


@pytest.mark.parametrize("name", FILES)
def test_vector_file_is_what_the_code_computes(name: str) -> None:
    """To change one on purpose, write the files again and review the differences."""
    written, computed = ((FOLDER / name).read_bytes().splitlines(), render(FOLDER / name, FILES[name]).splitlines())
    for number, (before, now) in enumerate(zip(written, computed, strict=False), start=1):
        assert before == now, f"line {number} of {name} differs; if that is meant, run python -m tests.vectors"
    assert len(written) == len(computed), f"{name} has another number of cases; run python -m tests.vectors"


def test_no_file_is_left_over_and_all_are_small() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(FILES)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 1_275_000


@pytest.mark.parametrize("name", FILES)
def test_every_field_is_described_and_every_number_fits_every_language(name: str) -> None:
    content = json.loads((FOLDER / name).read_bytes())
    assert content.keys() == {"description", "fields", "cases"}
    assert set().union(*content["cases"]) == content["fields"].keys()
    for leaf in leaves(content["cases"]):
        assert leaf is None or isinstance(leaf, str | bool) or (isinstance(leaf, int) and abs(leaf) < 1 << 53), leaf


def test_every_mechanism_and_every_shape_has_reports_along_every_path() -> None:
    laws = {str(case["id"]): case for case in cases("mechanisms.json")}
    walked = {(laws[str(case["mechanism"])]["mechanism"], case["path"]) for case in cases("reports.json")}
    for family in MECHANISMS:
        assert {path for name, path in walked if name == family} == {"random", "zeros", "ones", "reached", "below"}
    assert {law["shape"] for law in laws.values()} == {shape.value for shape in Shape}
    assert {case["mechanism"] for case in cases("reports.json")} == laws.keys()


def test_versions_are_digests_of_the_canonical_texts() -> None:
    for case in cases("metrics.json"):
        assert sha256(str(case["canonical"]).encode("ascii")).hexdigest()[:16] == case["version"]


def test_uploads_meet_every_problem_that_a_device_can_cause() -> None:
    assert {str(case["problem"]).removeprefix("urn:dither:problem:") for case in cases("uploads.json")} >= {
        *("malformed", "unknown-metric", "version-conflict", "too-large", "media-type", "origin"),
        "None",  # taken
    }
