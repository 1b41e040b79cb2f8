"""The rooms exist, and mutants are drawn as they should be (where the extra ``mutants`` is installed)."""

from pathlib import Path

import pytest

from .rooms import ROOMS, equivalents

TREE = Path(__file__).parents[2]

SOURCE = '''"""One - two < 3."""
from functools import lru_cache

Item = int | bytes
LIMIT: int | None = 3
_CHUNK = 1 << 20
TYPE_CHECKING = False
if TYPE_CHECKING:
    LIMIT = None


@lru_cache(maxsize=8)
def below(one: int, cohort: int = 0, *, two: int | None = None) -> bool | None:
    return one < two if two else not one


below(*zip([4], [5], strict=True))
'''


def test_rooms_name_sources_and_tests_that_exist() -> None:
    for room in ROOMS.values():
        assert [pattern for pattern in room.sources if not list(TREE.glob(pattern))] == []
        assert [test for test in room.tests if not (TREE / test).is_file()] == []


def test_equivalent_mutants_are_changes_of_sources_that_exist() -> None:
    for (file, line), reason in equivalents().items():
        source = (TREE / file).read_text(encoding="utf-8")
        before = line.removeprefix("any change of ")
        assert (before in map(str.strip, source.splitlines())) is (before != line), (file, line)
        assert len(reason) > 20


def test_mutants_change_signs_comparisons_and_constants_but_no_types(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray", reason="pip install dither[mutants]")
    from .mutating import mutants_of  # noqa: PLC0415 - it needs the extra

    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    changes = [mutant.change(SOURCE) for mutant in mutants_of("room", path, tmp_path)]
    before = "return one < two if two else not one"
    assert {after for line, after in changes if line == before} >= {
        "return one <= two if two else not one",
        "return one > two if two else not one",
        "return one < two if two else  one",
    }
    assert {after for line, after in changes if line != before} == {
        *("LIMIT: int | None = 4", "LIMIT: int | None = 2"),
        *(
            f"below(*zip([{one}], [{two}], strict=True))"
            for one, two in (("4", " 6"), ("4", " 4"), (" 5", "5"), (" 3", "5"))
        ),
    }
    assert list(mutants_of("room", path, tmp_path)) == list(mutants_of("room", path, tmp_path))
