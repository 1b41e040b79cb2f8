"""Cached compiled definitions: trusted only as this device and version wrote them, and never more permissive."""

import json
import marshal
import math
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dither
import dither.reporting.definitions as module
from client.devices import ENDPOINT, Calendar
from client.test_processes import needs_posix, run
from dither.reporting.bodies import build
from dither.reporting.definitions import load
from dither.reporting.keys import Keys
from dither.state.folder import FolderState
from dither_shared import VERSION, KeyedEntropy, load_metrics

TOML = """[metrics]
theme = {type = "choice", values = ["light", "dark", "grün"], epsilon = 1.0, expires = 2027-06-30}
mobile = {type = "boolean", epsilon = 0.5, permanent_epsilon = 1.0, cap = 3.0}
startup = {type = "number", low = 0.05, high = 60.0, log = true, epsilon = 1.0}
often = {type = "number", low = 0, high = 100, epsilon = 1.0, permanent_epsilon = 2.0}
fine = {type = "number", low = -1, high = 1, epsilon = 1.0, mechanism = "dithered-response", steps = 6, resolution = 9}
browser = {type = "string", mechanism = "rappor", epsilon = 2.0, permanent_epsilon = 4.0}
unary = {type = "choice", values = ["a", "b", "c", "d", "e"], mechanism = "optimized-unary", epsilon = 1.0}
font = {type = "boolean", epsilon = 1.0, strata = {platform = ["linux", "mac"]}}
"""
ANSWERS: list[object] = ["dark", "grün", "?", True, 0, None, 0.05, 3, 61.0, 1 << 60, 2.5, "Firefox", [], "e"]
ANSWERS += [-0.0001, 1e-9, 0.1 + 0.2, 33.3, 99.99999, 10**400, -math.inf, math.nan]  # between points and beyond them


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


@pytest.fixture
def kept(definitions: Path, folder: Path) -> Path:
    """Return the file of compiled definitions of a device whose user consented."""
    for _ in range(2):
        client = dither.Client(definitions, ENDPOINT, "tests", folder, environ={}, background=False)
        client.consent("on")
        client.close()
    return folder / "definitions"


def loaded(definitions: Path, folder: Path) -> dict[str, dither.Metric]:
    return dict(load(str(definitions), FolderState(folder)))


def is_compiled(definitions: Path, folder: Path) -> bool:
    kinds = {not isinstance(metric, dither.Metric) for metric in loaded(definitions, folder).values()}
    assert len(kinds) == 1
    return kinds == {True}


def test_compiled_metrics_report_bit_by_bit_as_those_that_are_defined(
    definitions: Path, folder: Path, kept: Path
) -> None:
    compiled, defined = loaded(definitions, folder), load_metrics(definitions)
    metric: Any  # a compiled or a defined metric
    assert compiled.keys() == defined.keys()
    for name, other in defined.items():
        compiled_metric: Any = compiled[name]
        assert not isinstance(compiled_metric, dither.Metric)
        for attribute in ("version", "period", "charge", "description"):
            assert getattr(compiled_metric, attribute) == getattr(other, attribute)
        assert compiled_metric.draws.memoised == other.draws.memoised
        for number, answer in enumerate(ANSWERS):
            encoded = other.answers.encode(answer)
            assert compiled_metric.answers.encode(answer) == encoded, (name, answer)
            bodies, rests = [], []
            for metric in (compiled_metric, other):
                keys, entropy = Keys(b"secret"), KeyedEntropy(b"key", name.encode(), bytes([number]))
                memoised = metric.draws.memoised
                item = keys.rounded(metric, encoded) if memoised else encoded.rounded(entropy)
                tag = keys.of(metric).tag(item) if memoised else ""
                bodies.append((item, tag, build(metric, item, keys, entropy, 0, True).body))
                rests.append(entropy.take(8))
            assert (bodies[0], rests[0]) == (bodies[1], rests[1]), (name, answer)


def test_run_with_compiled_definitions_reads_no_toml(definitions: Path, folder: Path, kept: Path) -> None:
    program = (
        "import dither\n"
        "client = dither.Client(*sys.argv[1:3], 'tests', sys.argv[3], environ={}, background=False)\n"
        "for name, value in (('theme', 'dark'), ('mobile', True), ('startup', 1.5), ('browser', 'Firefox')):\n"
        "    client.record(name, value)\n"
        "heavy = {'tomllib', 'dataclasses', 'typing', 'fractions', 'decimal', 'pathlib', 're', 'json', 'urllib'}\n"
        "heavy |= {'threading', 'functools', 'contextlib', 'collections', 'weakref', 'datetime', 'importlib'}\n"
        "print(*sorted(heavy & sys.modules.keys()))\n"
        "print(client.status().queued, client.status().trouble)\n"
    )
    done = run(program, str(definitions), ENDPOINT, str(folder))
    assert done.stdout.splitlines() == ["", "4 {}"]


def test_damaged_or_truncated_compiled_definitions_are_not_trusted(
    definitions: Path, folder: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions.write_text(TOML.partition("startup")[0], encoding="utf-8")
    assert not is_compiled(definitions, folder)
    assert is_compiled(definitions, folder)
    whole = kept.read_bytes()
    # In place of reading TOML 500 times:
    monkeypatch.setattr("dither_shared.metrics.definition.parse_metrics", lambda *_: {})
    monkeypatch.setattr(module, "overwrite", lambda *_: None)
    flipped = (whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :] for place, byte in enumerate(whole))
    cut = (whole[:length] for length in range(len(whole)))
    for damaged in (*flipped, *cut, whole[32:], whole + b"N", whole + bytes(1 << 18)):
        kept.write_bytes(damaged)
        assert loaded(definitions, folder) == {}, damaged
    kept.write_bytes(whole)
    assert loaded(definitions, folder), "the complete file is trusted"


def test_definitions_that_are_read_in_pieces_keep_their_end(
    definitions: Path, folder: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A read may return fewer bytes than requested; the definitions up to there have no cap.
    definitions.write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 0.5\ncap = 1.0\n', encoding="utf-8")
    read = os.read
    cut = definitions.read_bytes().index(b"cap")
    monkeypatch.setattr(os, "read", lambda descriptor, count: read(descriptor, min(count, cut)))
    assert loaded(definitions, folder)["mobile"].cap == 1.0
    monkeypatch.undo()
    assert is_compiled(definitions, folder), "the same bytes, in one piece"


def test_definitions_that_are_not_text_are_a_mistake_on_every_device(
    definitions: Path, folder: Path, kept: Path, tmp_path: Path
) -> None:
    definitions.write_bytes(definitions.read_bytes() + b"# \xff")
    for state in (tmp_path / "new", folder):
        with pytest.raises(dither.ParameterError, match=r"metrics\.toml: cannot be read: not UTF-8"):
            loaded(definitions, state)


@needs_posix
@pytest.mark.parametrize("owner", ["the folder", "the files"])
def test_compiled_definitions_of_another_user_are_not_unmarshalled(
    definitions: Path, folder: Path, kept: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "lstat" if owner == "the folder" else "fstat"
    status: Any = getattr(os, name)

    def of_another(path: Any) -> os.stat_result:
        fields = [*status(path)]
        fields[stat.ST_UID] += 1
        return os.stat_result(fields)

    assert is_compiled(definitions, folder)
    monkeypatch.setattr(os, name, of_another)
    monkeypatch.setattr(marshal, "loads", lambda _: pytest.fail("unmarshalled"))
    assert not is_compiled(definitions, folder)


def test_compiled_definitions_that_cannot_be_stored_stop_nothing(definitions: Path, folder: Path, kept: Path) -> None:
    kept.unlink()
    kept.mkdir()
    assert not is_compiled(definitions, folder)
    assert loaded(definitions, folder).keys() == load_metrics(definitions).keys()


def test_compiled_definitions_of_another_device_or_version_are_not_trusted(
    definitions: Path, folder: Path, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dither.Client(definitions, ENDPOINT, "tests", tmp_path / "other", environ={}, background=False)
    other.consent("on")
    (tmp_path / "other" / "definitions").write_bytes(kept.read_bytes())
    assert not is_compiled(definitions, tmp_path / "other")
    monkeypatch.setattr(module, "VERSION", "0.0.9")
    assert not is_compiled(definitions, folder)
    monkeypatch.undo()
    assert not is_compiled(definitions, folder), "nor the compiled file of a later version"
    definitions.write_text(TOML.replace("epsilon = 1.0", "epsilon = 0.9"), encoding="utf-8")
    assert not is_compiled(definitions, folder)
    assert loaded(definitions, folder)["theme"].charge < 0.9000001


@needs_posix
def test_a_link_in_place_of_compiled_definitions_is_not_followed(definitions: Path, folder: Path, kept: Path) -> None:
    target = kept.rename(folder.with_name("target"))
    kept.symlink_to(target)
    assert not is_compiled(definitions, folder)
    assert (target.exists(), kept.is_symlink()) == (True, False)


def test_compiled_definitions_are_stored_after_consent_and_deleted_by_forget(definitions: Path, folder: Path) -> None:
    client = dither.Client(definitions, ENDPOINT, "tests", folder, environ={}, background=False)
    client.record("theme", "dark")
    assert not folder.exists(), "no user was asked"
    client.consent("on")
    dither.Client(definitions, ENDPOINT, "tests", folder, environ={}, background=False).close()
    assert (folder / "definitions").exists()
    client.forget()
    assert not (folder / "definitions").exists()


def test_compiled_metrics_lead_to_the_same_status_and_texts(definitions: Path, folder: Path, kept: Path) -> None:
    shown = []
    for metrics in (definitions, load_metrics(definitions)):
        client = dither.Client(metrics, ENDPOINT, "tests", folder, environ={}, background=False, today=Calendar())
        shown.append((client.status().metrics, client.pending(), json.dumps(client.consent_text()).count("{")))
        client.close()
    assert shown[0] == shown[1]


def test_version_of_the_client_equals_the_release() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == VERSION
