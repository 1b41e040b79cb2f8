"""The command ``dither-sim bench``, with made-up findings: what peers really do is measured by running it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_simulations.cli import main
from dither_simulations.experiments.peers import measuring
from dither_simulations.experiments.peers.environments import Unavailable
from dither_simulations.experiments.peers.inside.protocol import Case, Finding
from dither_simulations.experiments.peers.measuring import QUICK, USERS, cases

asked: list[tuple[str, Case]] = []


def made_up(library: str, _: Path, some: Iterable[Case]) -> Iterator[Finding]:
    """Answer at once; multi-freq-ldpy's process ends at its first error."""
    for case in some:
        asked.append((library, case))
        finding = Finding(case, USERS, top_share=0.1, declared=1.0)
        if case.kind == "rate":
            yield replace(finding, report_seconds=1e-5, estimate_seconds=0.5)
        elif case.kind == "leak":
            seen = [{"1 0": 60, "0 1": 40}, {"1 0": 40, "0 1": 60}]
            yield replace(finding, trained=seen, judged=seen)
        elif library == "multi-freq-ldpy":
            raise Unavailable(f"{library}: its process ended at {case}")
        else:
            runs = [1e-4, 2e-4, 1e-4, 2e-4, 1e-4]
            yield replace(finding, raw=runs, raw_within=runs, given=runs, top_raw=runs, top=runs)


@pytest.fixture(autouse=True)
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    asked.clear()
    monkeypatch.setattr(measuring, "answers", made_up)
    monkeypatch.setattr(measuring, "prepare", lambda _, folder: folder)
    monkeypatch.setattr("dither_simulations.experiments.peers.sampled._RUNS", 1)


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["bench", "--quick", "--jobs", "1", *map(str, arguments)])


def test_all_tables_are_printed_and_what_could_not_be_measured_is_said() -> None:
    result = bench()
    assert result.exit_code == 0, result.output
    for title in ("Total risk over the optimum", "Speed at k = 1,024", "A simulated trial", "What reports tell"):
        assert title in result.stdout
    assert "not measured: multi-freq-ldpy: its process ended" in result.stderr
    assert "| ---: |" in bench("--markdown").stdout


def test_rows_are_complete_and_flat() -> None:
    rows = json.loads(bench("--json", "--seed", "5").stdout)
    kinds = {(row["library"], row["kind"]) for row in rows}
    assert kinds >= {(one, kind) for one in ("dither", "pure-ldp") for kind in ("rate", "leak", "error")}
    trials = [row for row in rows if row["kind"] == "trial"]
    assert {row["library"] for row in trials} == {"dither", "pure-ldp", "multi-freq-ldpy"}
    peer = next(row for row in trials if row["library"] == "pure-ldp")
    assert peer["trial_seconds"] == pytest.approx(USERS * 1e-5 + 0.5)
    assert {case.seed for _, case in asked if case.kind == "rate"} == {5, 6, 7, 8, 9}


def test_what_was_measured_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "bench.json"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dither_simulations.experiments.peers.telling.timed", killed)
        assert bench("--out", out).exit_code == 1
    first = list(asked)
    asked.clear()
    assert bench("--out", out).exit_code == 0
    failed = [(library, case) for library, case in first if library == "multi-freq-ldpy" and case.kind == "error"]
    assert asked == failed[:1]
    assert len(json.loads(out.read_text())) > len(cases("pure-ldp", QUICK))
    assert not out.with_name("bench.json.part").exists()


def test_a_cluster_is_refused() -> None:
    result = bench("--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "--scheduler" in result.stderr
