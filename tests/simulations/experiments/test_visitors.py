"""Visitors of a web page, and ``dither-sim demo --browser``."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from dither_shared import DitherError, ParameterError
from dither_simulations.experiments.demo.showing import asked_on_the_page
from dither_simulations.experiments.demo.visitors import CHECKOUT, installed_programs, served
from js.tools import chromium, node, packages
from simulations.lab import lab


def demo(*arguments: str | Path) -> tuple[int, str, str]:
    result = lab("demo", "--browser", *map(str, arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow  # starts Chromium; tests/js has the smoke test of the page, and test_demo.py that of the demo
def test_demo_counts_the_report_of_every_visitor_once(tmp_path: Path) -> None:
    """Chromium, the form, the other origin and the collector process are real. Each report is counted once."""
    packages()
    chromium()
    status, said, complaints = demo("--visitors", "12", "--jobs", "3", "--json", "--out", tmp_path)
    assert status == 0, complaints
    theme, translated, tabs = json.loads(said)
    assert [answer["reports"] for answer in (theme, translated, tabs)] == [12, 12, 12]
    assert sum(row["truth"] for row in theme["values"]) == pytest.approx(1)
    assert [row["statistic"] for row in tabs["values"]] == ["mean", "p50", "p95"]
    assert (tmp_path / "tabs.png").read_bytes().startswith(b"\x89PNG")


def test_visitor_that_cannot_report_is_an_error(tmp_path: Path) -> None:
    packages()
    survey = asked_on_the_page(2, 0)
    (definition := tmp_path / "metrics.toml").write_text(survey.definition, encoding="utf-8")
    done: list[int] = []
    with served(node(), "/nowhere/chromium") as page, pytest.raises(DitherError, match=r"could not report: .*launch"):
        page.visit(definition, "http://127.0.0.1:9", survey.people, 1, lambda: done.append(1))
    assert done == []


def test_definitions_that_cannot_be_compiled_are_an_error_of_the_visit(tmp_path: Path) -> None:
    (definition := tmp_path / "metrics.toml").write_text('[metrics.a]\ntype = "mood"\n')
    with served("node", "chromium") as page, pytest.raises(DitherError, match="mood"):
        page.visit(definition, "http://127.0.0.1:9", [], 1, int)


def programs(folder: Path, names: Sequence[str]) -> str:
    """A PATH with programs of these names alone; this Node is of version 18."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\necho v18.1.0\n")
        (folder / name).chmod(0o700)
    return str(folder)


def test_demo_names_every_missing_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout := tmp_path / "js").mkdir()
    with pytest.raises(ParameterError, match="checkout"):
        installed_programs(checkout)
    (checkout / "demo").mkdir()
    (checkout / "demo" / "index.html").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ParameterError, match=r"Node 20.*npm install.*apt-get install chromium"):
        installed_programs(checkout)
    monkeypatch.setenv("PATH", programs(tmp_path, ["node", "chromium"]) + os.pathsep + os.defpath)
    with pytest.raises(ParameterError, match=r"lacks Node 20 or later \(.*\), the npm packages \([^)]*\)$"):
        installed_programs(checkout)


def test_page_of_the_demo_asks_the_questions_of_its_definitions() -> None:
    survey = asked_on_the_page(300, 1)
    form = (CHECKOUT / "demo" / "index.html").read_text(encoding="utf-8")
    assert len(survey.people) == 300
    for name, metric in survey.metrics.items():
        assert metric.description in form
        assert f'name="{name}"' in form
