"""The files of google/rappor are decoded, and errors in them are named."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dither_server.cli.main import cli
from dither_server.cli.rappor_files import read
from dither_server.estimation.decoders.rappor import regress
from dither_server.estimation.hashing import marks_of
from server.estimation.decoders.test_rappor import CANDIDATES, MECHANISM, sampled, zipf

TALLY = sampled(np.random.default_rng(5), MECHANISM, CANDIDATES, zipf(60), 200_000)
PARAMS, COUNTS, MAP = "params.csv", "counts.csv", "map.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    law = [float(number) for number in (MECHANISM.instant_p, MECHANISM.instant_q, MECHANISM.permanent_f)]
    marks = marks_of(CANDIDATES, MECHANISM.cohorts, MECHANISM.bits, MECHANISM.hashes)
    first = 1 + MECHANISM.bits * np.arange(MECHANISM.cohorts)[:, np.newaxis]
    files: dict[str, list[list[object]]] = {
        PARAMS: [["k", "h", "m", "p", "q", "f"], [MECHANISM.bits, MECHANISM.hashes, MECHANISM.cohorts, *law]],
        COUNTS: np.column_stack([TALLY.reports, TALLY.counts]).tolist(),
        MAP: [[one, *(first + marks[:, :, place]).ravel().tolist()] for place, one in enumerate(CANDIDATES)],
    }
    for name, rows in files.items():
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    return tmp_path


def decode(folder: Path, *more: str) -> str:
    """Run the command on a folder's files; return what it prints."""
    paths = (f"--{name}={folder / file}" for name, file in (("params", PARAMS), ("counts", COUNTS), ("map", MAP)))
    result = CliRunner().invoke(cli, ["rappor-decode", *paths, *more])
    assert result.exit_code == (2 if result.stdout == "" else 0), result.output
    return result.stdout or result.stderr


def test_rappor_files_are_read_to_the_counts_of_the_tally(folder: Path) -> None:
    """Positions are 1-based, as ``cohort * k + bit + 1``."""
    contents = read(*(str(folder / name) for name in (PARAMS, COUNTS, MAP)))
    assert contents.strings == CANDIDATES
    assert (contents.table.counts == TALLY.counts).all()
    assert (contents.table.reports == TALLY.reports).all()
    assert (contents.table.a, contents.table.b) == pytest.approx((float(MECHANISM.a), float(MECHANISM.b)), abs=1e-12)


def test_decoded_files_match_the_estimate_of_the_metric(folder: Path) -> None:
    answer = json.loads(decode(folder, "--json", "--all"))
    fit = regress(MECHANISM, CANDIDATES, TALLY)
    values = {row["value"]: row for row in answer["values"]}
    assert len(values) == answer["candidates"] == 60
    assert [values[name]["frequency"] for name in CANDIDATES] == pytest.approx(fit.frequency.tolist(), abs=1e-9)
    assert [values[name]["found"] for name in CANDIDATES] == fit.found.tolist()
    assert [values[name]["consistent"] for name in CANDIDATES] == pytest.approx(fit.consistent.tolist(), abs=1e-9)
    assert answer["unlisted"]["frequency"] == pytest.approx(fit.unlisted, abs=1e-9)
    assert answer["found"] == len(json.loads(decode(folder, "--json"))["values"]) == fit.found.sum()
    shown = decode(folder)
    assert shown.startswith("200,000 reports, 60 candidates, ")
    assert "hold none of the candidates" in shown
    assert {line.split()[-1] for line in shown.splitlines()[4:]} == {"yes"}


def test_hashes_that_fall_on_one_bit_mark_it_once(folder: Path) -> None:
    rows = (folder / MAP).read_text(encoding="utf-8").splitlines()
    name, first, _, *rest = rows[0].split(",")
    for positions in ([first, first, *rest], [first, *rest]):
        (folder / MAP).write_text("\n".join([",".join([name, *positions]), *rows[1:]]), encoding="utf-8")
        marks = read(*(str(folder / file) for file in (PARAMS, COUNTS, MAP))).marks
        assert marks[0, :, 0].tolist() == [int(first) - 1, MECHANISM.bits]
        assert "candidate 0" in decode(folder)


def test_error_in_a_rappor_file_names_file_line_and_fault(folder: Path) -> None:
    whole = {name: (folder / name).read_bytes() for name in (PARAMS, COUNTS, MAP)}
    for file, text, complaint in (
        (PARAMS, "k,h,m\n64,2,8\n", "one header, k,h,m,p,q,f"),
        (PARAMS, "k,h,m,p,q,f\n64,2,8,x,0.5,0.5\n", "line 2: k, h and m must be whole numbers"),
        (PARAMS, "k,h,m,p,q,f\n64,2,8,0.5,0.5,0.5\n", "p not q"),
        (PARAMS, "k,h,m,p,q,f\n0,2,8,0.5,0.6,0.5\n", "k >= 2"),
        (COUNTS, "1,1\n", "1 row; there must be one for each of m = 8"),
        (COUNTS, "\n".join(["1,1"] * 8), "line 1: 2 cells; there must be a total and k = 64"),
        (COUNTS, ("1" + ",2" * 64 + "\n") * 8, "line 1: a count must lie between 0 and the total"),
        (COUNTS, ("0" + ",0" * 64 + "\n") * 8, "has no reports"),
        (COUNTS, ("1.5" + ",1" * 64 + "\n") * 8, "line 1: a cell is not a whole number"),
        (MAP, "", "has no candidates"),
        (MAP, "a,1\nb\n", "line 2: a string without positions marks nothing"),
        (MAP, "a,0\n", "line 1: positions go from 1 to m·k = 512"),
        (MAP, "a,1\nb,513\n", "line 2: positions go from 1"),
        (MAP, "a,1,2,3\n", "line 1: more than h = 2 bits in one cohort"),
        (MAP, b"\xff,1\n", "not CSV in UTF-8"),
    ):
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        said = decode(folder)
        assert said.startswith(f"dither-server: {folder / file}: "), text
        assert complaint in said, said
        assert said.count("\n") == 1
        (folder / file).write_bytes(whole[file])
    (folder / MAP).unlink()
    assert decode(folder) == f"dither-server: {folder / MAP}: cannot be read: No such file or directory\n"
