"""dither-server key, and what check and doctor say of seal keys."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from dither_server.cli.examination.configuration import in_configuration
from dither_server.cli.examination.database import in_field
from dither_server.cli.examination.findings import CheckResult, Level
from dither_server.ingest.seal_keys import KeyFile
from dither_server.store import Refusal, Store
from dither_server.tally.retention import Retention
from dither_shared import parse_metrics
from dither_shared.seal_key import SUITES
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS, METRICS_TOML, THEME, TODAY, config, sealed_upload
from server.ingest.sealed.sealing import drawn, keep


def key_of(result: Result) -> str:
    """The key that a command prints as metrics.toml takes it."""
    assert result.exit_code == 0, result.output
    read = parse_metrics(METRICS_TOML + result.stdout)["theme"].seal
    assert read is not None
    return read.fingerprint


def listed(folder: Path) -> list[str]:
    return [key["fingerprint"] for key in json.loads(invoke(folder, "key", "list", "--json").stdout)]


@pytest.mark.parametrize("suite", SUITES)
def test_key_command_creates_rotates_and_retires_a_key(suite: str, folder: Path) -> None:
    path = folder / "seal-keys.json"
    first = key_of(invoke(folder, "key", "create", "--suite", suite))
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"there is a key of {suite}" in error_of(invoke(folder, "key", "create", "--suite", suite))
    following = key_of(invoke(folder, "key", "rotate"))
    assert f"{first}: retire it first" in error_of(invoke(folder, "key", "rotate"))
    assert listed(folder) == [first, following]
    lines = invoke(folder, "key", "list").stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [[key, suite, "made"] for key in (first, following)]
    private = [key["private"] for key in json.loads(path.read_text())["keys"]]
    assert len(private) == 2
    assert not any(key in invoke(folder, "key", "list").output for key in private)
    assert invoke(folder, "key", "retire", first).exit_code == 0
    assert listed(folder) == [following]
    assert "names no key" in error_of(invoke(folder, "key", "retire", first))


def test_key_that_metrics_toml_names_is_retired_only_by_force(folder: Path) -> None:
    assert "there is no key of x25519 yet" in error_of(invoke(folder, "key", "rotate"))
    assert not (folder / "seal-keys.json.lock").exists(), "what was refused leaves nothing"
    made = invoke(folder, "key", "create")
    (folder / "metrics.toml").write_text(METRICS_TOML + made.stdout, encoding="utf-8")
    assert "metrics.toml names it; rotate first" in error_of(invoke(folder, "key", "retire", key_of(made)))
    assert listed(folder) == [key_of(made)]
    assert invoke(folder, "key", "retire", key_of(made), "--force").exit_code == 0
    assert listed(folder) == []


def test_key_file_may_be_in_another_folder(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    made = invoke(folder, "key", "create", "--seal-keys", str(elsewhere))
    assert [key.public.fingerprint for key in KeyFile(elsewhere).read()] == [key_of(made)]
    nowhere = invoke(folder, "key", "create", "--seal-keys", str(tmp_path / "no" / "keys.json"))
    assert "/no/keys.json.lock cannot be opened (No such file or directory)" in error_of(nowhere, 1)


def test_without_the_sealed_extra_key_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_server.ingest.hpke.find_spec", lambda _: None)
    for command in ("create", "rotate"):
        assert "pip install 'dither[server,sealed]'" in error_of(invoke(folder, "key", command))
    keep(folder / "seal-keys.json")


def of_seals(folder: Path, **changed: object) -> list[CheckResult]:
    return [finding for finding in in_configuration(config(folder, **changed)) if "seal" in finding.text]


def test_doctor_says_whether_what_apps_seal_can_be_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, key = folder / "seal-keys.json", drawn()
    changes = {"metrics": {**METRICS, "theme": replace(THEME, seal=key.public)}}
    print_of = key.public.fingerprint
    assert of_seals(folder) == []
    (missing,) = of_seals(folder, **changes)
    assert missing.level is Level.PROBLEM
    assert missing.text == f"metrics.toml: seal.key is {print_of}, which {path} does not hold; its keys: none"
    keep(path, drawn(), key)
    (opened,), (unused,) = of_seals(folder, **changes), of_seals(folder)
    assert opened == CheckResult(Level.OK, "configuration", f"reports sealed for {print_of} are opened here")
    kept = [of_seals(folder, **changes, retention=Retention.read(f"{days} days", "")) for days in (15, 16)]
    (early,) = kept[0][1:]
    assert (early.level, kept[1]) == (Level.WARNING, [opened])
    assert early.text.endswith("for the beginning of their day, and may come 16 days after it; keep them for longer")
    assert unused.text == "seal keys in the file: 2; metrics.toml names none in [seal]"
    with monkeypatch.context() as patch:
        patch.setattr("dither_server.ingest.hpke.find_spec", lambda _: None)
        (without,) = of_seals(folder, **changes)
        assert (without.level, "pip install 'dither[server,sealed]'" in without.text) == (Level.PROBLEM, True)
    if os.name == "posix":
        path.chmod(0o644)
        (open_to_all,) = of_seals(folder, **changes)
        assert (open_to_all.level, f"chmod 600 {path}" in open_to_all.text) == (Level.PROBLEM, True)
        assert invoke(folder, "doctor", "--before-start").exit_code == 2


def test_doctor_warns_when_more_sealed_reports_than_the_alarm_do_not_open(store: Store) -> None:
    store.commit([sealed_upload() for _ in range(7)], TODAY, b"s" * 16)
    store.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 50}, b"s" * 16)
    for more, refused in ((0, 0), (1, 1), (1, 2), (998, 1000)):
        store.add_refusals({Refusal("theme", TODAY, "sealed", THEME.version): more}, b"s" * 16)
        texts = [finding.text for finding in in_field(store, TODAY, 0.05) if finding.about == "sealed"]
        said = f"{refused:,} of {21 + refused:,} reports of theme did not open in the last 7 days, counting each try"
        assert texts == ([said] if refused > 1 else [])
