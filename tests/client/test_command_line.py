"""``python -m dither``: what a user sees and decides."""

from pathlib import Path

import pytest

from client.devices import Make
from dither.__main__ import main


@pytest.fixture
def arguments(tmp_path: Path, folder: Path) -> list[str]:
    path = tmp_path / "metrics.toml"
    path.write_text(
        '[metrics.theme]\ndescription = "Which theme?"\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'
        '[metrics.browser]\ntype = "string"\nepsilon = 2.0\n'
    )
    return ["--metrics", str(path), "--app", "tests", "--state", str(folder)]


def test_looking_writes_nothing(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "telemetry is off" in shown
    assert "Which theme?" in shown
    assert main(["preview", *arguments]) == 0
    assert capsys.readouterr().out == ""
    assert not folder.exists()


def test_a_choice_is_kept_and_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("on", "local", "off"):
        assert main([mode, *arguments]) == 0
        assert f"telemetry is {mode} (decided by the user's choice)" in capsys.readouterr().out
        main(["status", *arguments])
        assert f"telemetry is {mode} " in capsys.readouterr().out


def test_preview_prints_the_bytes(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=arguments[1])
    client.record("theme", "dark")
    client.record("browser", "firefox")
    assert main(["preview", *arguments]) == 0
    assert capsys.readouterr().out.encode().splitlines() == client.preview()


def test_a_mistake_in_the_definitions_is_named(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.toml").write_text('[metrics.theme]\ntype = "choice"\nvalues = ["a", "b"]\nepsilon = 0\n')
    assert main(["status", *arguments]) == 2
    assert "metrics.theme.epsilon" in capsys.readouterr().err
