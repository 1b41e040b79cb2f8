"""The command ``dither-sim audit``; the audit itself is tested in tests/shared/privacy."""

import json
from functools import partial

import pytest

from dither_shared import Entropy, SymmetricUnary
from dither_shared.mechanism import Item
from simulations.lab import lab

FEW = ("--draws", "2000", "--seed", "1")


run = partial(lab, "audit")


def test_a_seed_repeats_an_audit_whatever_else_is_audited() -> None:
    both = run(*FEW, "--mechanism", "rappor", "--mechanism", "auto", "--json").stdout.splitlines()
    alone = run(*FEW, "--mechanism", "auto", "--json").stdout.splitlines()
    assert both[2] == alone[1]
    assert "subset-selection" in alone[1]


def test_audit_can_use_the_randomness_of_the_system() -> None:
    result = run("--draws", "1000", "--mechanism", "hadamard-response", "--system")
    assert "hadamard-response" in result.stdout
    assert result.exit_code in {0, 1}  # a right randomizer fails one in a thousand


def test_series_of_reports_are_audited_against_the_loss_of_a_series() -> None:
    several = (*FEW, "--reports", "4", "--permanent-epsilon", "2", "--json")
    rows = json.loads(run(*several, "--mechanism", "optimized-unary", "--mechanism", "subset-selection").stdout)
    assert rows[0]["declared"] < 2 < rows[1]["declared"] == pytest.approx(4.0)


def test_several_lengths_of_series_are_audited_by_several_processes_with_the_same_numbers() -> None:
    options = (*FEW, "--reports", "1,3", "--mechanism", "randomized-response", "--mechanism", "hadamard-response")
    alone = run(*options, "--json", "--confidence", "0.99").stdout
    assert [row["reports"] for row in json.loads(alone)] == [1, 3, 1, 3]
    assert {row["confidence"] for row in json.loads(alone)} == {0.99}
    assert run(*options, "--json", "--confidence", "0.99", "--jobs", "2").stdout == alone


def test_audit_finds_a_randomizer_that_leaks_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SymmetricUnary.randomize

    def leaky(
        self: SymmetricUnary, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None
    ) -> bytes:
        report = bytearray(honest(self, item, entropy, cohort, permanent))
        assert isinstance(item, int)
        report[item // 8] |= 1 << item % 8  # the true bit is never cleared
        return bytes(report)

    monkeypatch.setattr(SymmetricUnary, "randomize", leaky)
    result = run(*FEW, "--mechanism", "symmetric-unary", "--mechanism", "optimized-unary")
    assert result.exit_code == 1
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert lines["symmetric-unary"].endswith("FAIL")
    assert lines["optimized-unary"].endswith("pass")
    assert "VIOLATED by symmetric-unary" in result.stdout
