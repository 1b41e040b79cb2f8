"""The folder of a site: whole or not at all, whatever fails, and nothing of anybody else's is touched."""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dither_server.dashboard.publishing.folder import LIST, exchanged, replacing
from dither_shared import DitherError, ParameterError
from forkserver import run
from server.dashboard.publishing.sites import files_of


def never(*_: object) -> bool:
    """Exchange nothing, as systems do that have no such step."""
    return False


def publish(out: Path, text: str, exchange: Callable[[Path, Path], bool] | None = None) -> None:
    with replacing(out, exchange) as fresh:
        fresh.write("index.html", [text.encode()])
        fresh.write(f"metrics/{text}/index.html", [b"page"])


def content(out: Path) -> dict[str, str]:
    """Every file of a site except its list, by its path."""
    return {name: text.decode() for name, text in files_of(out).items() if name != LIST}


def site_of(text: str) -> dict[str, str]:
    return {"index.html": text, f"metrics/{text}/index.html": "page"}


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "site"
    publish(out, "one")
    assert content(out) == site_of("one")
    assert (out / LIST).read_text(encoding="utf-8").splitlines()[1:] == ["index.html", "metrics/one/index.html"]
    out.chmod(0o750)
    publish(out, "two")
    assert content(out) == site_of("two")
    assert out.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in out.parent.iterdir()] == ["site"]


def failing(monkeypatch: pytest.MonkeyPatch, name: str, at: int) -> None:
    """Let a function of the system fail at its call of this number: the disk is full."""
    real: Callable[..., object] = getattr(os, name)
    calls = 0

    def fail(*args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize(("name", "at"), [*(("fsync", at) for at in range(1, 8)), ("rename", 1), ("rename", 2)])
def test_disk_failure_leaves_the_old_site_or_the_new_one(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "site"
    publish(out, "old")
    with monkeypatch.context() as patch:
        failing(patch, name, at)
        with pytest.raises(DitherError, match="No space left"):
            publish(out, "new", never)
    assert content(out) in (site_of("old"), site_of("new"))
    publish(out, "newer")
    assert content(out) == site_of("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.skipif(sys.platform != "linux", reason="it exchanges no folders in one step")
def test_site_is_exchanged_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "site"
    publish(out, "old")
    with monkeypatch.context() as patch:
        failing(patch, "rename", 1)  # by two renames there is none for a moment
        publish(out, "new")
    assert content(out) == site_of("new")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert not exchanged(out, tmp_path / "nothing")


KILLED = """
import os, sys
from pathlib import Path
from dither_server.dashboard.publishing.folder import replacing
out, name, at = sys.argv[1:]
calls = 0
real = getattr(os, name)
def killing(*args, **options):
    global calls
    calls += 1
    if calls == int(at):
        os._exit(9)
    return real(*args, **options)
setattr(os, name, killing)
with replacing(Path(out), (lambda *_: False) if name == "rename" else None) as fresh:
    fresh.write("index.html", [b"new"])
    fresh.write("metrics/new/index.html", [b"page"])
    if at == "0":
        os._exit(9)
"""


@pytest.mark.parametrize(
    ("name", "at"),
    [*(("rename", at) for at in (0, 1, 2)), ("fsync", 1), ("fsync", 7)]
    + [(name, at) for name in ("unlink", "rmdir") for at in (1, 2, 3)],
)
def test_next_publish_cleans_up_after_a_killed_one(name: str, at: int, tmp_path: Path) -> None:
    out = tmp_path / "site"
    publish(out, "old")
    assert run("-c", KILLED, str(out), name, str(at)).returncode == 9
    kept = content(out if out.exists() else tmp_path / ".site.old")
    assert kept == site_of("old" if name in {"rename", "fsync"} and at < 7 else "new")
    with pytest.raises(ZeroDivisionError), replacing(out):
        raise ZeroDivisionError
    assert content(out) == kept
    publish(out, "newer")
    assert content(out) == site_of("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("of", ["", "dither-server publish made this", "x:\nindex.ht"])
def test_half_written_list_of_files_is_cleaned_up(of: str, tmp_path: Path) -> None:
    (tmp_path / ".site.new").mkdir()
    (tmp_path / ".site.new" / LIST).write_text(of, encoding="utf-8")
    (tmp_path / ".site.new" / "index.html").write_text("half", encoding="utf-8")
    publish(tmp_path / "site", "new")
    assert content(tmp_path / "site") == site_of("new")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_second_publish_at_once_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "site"
    publish(out, "old")
    with replacing(out) as fresh:
        fresh.write("index.html", [b"first"])
        with pytest.raises(DitherError, match="another dither-server publish"):
            publish(out, "second")
    assert content(out) == {"index.html": "first"}


@pytest.mark.parametrize("exchange", [None, never])
def test_publish_holds_its_lock_while_it_cleans_up(
    exchange: Callable[[Path, Path], bool] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the clean-up would remove the folder of a second run, which would publish only its later files."""
    out = tmp_path / "site"
    publish(out, "old")
    remove: Callable[[Path], None] = shutil.rmtree
    refused: list[Path] = []

    def removing(path: Path) -> None:
        if not refused:
            refused.append(path)
            assert content(out) == site_of("new")
            with pytest.raises(DitherError, match="another dither-server publish"):
                publish(out, "second")
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", removing)
    publish(out, "new", exchange)
    assert [path.name for path in refused] == ["metrics"]
    assert content(out) == site_of("new")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_publish_leaves_files_that_it_did_not_write_alone(tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    publish(out, "new")  # an empty folder may become a site
    shutil.rmtree(out)
    out.mkdir()
    (out / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"holds thesis\.txt and was not written by publish"):
        publish(out, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    (out / "thesis.txt").unlink()
    publish(out, "old")
    (out / ".git").mkdir()
    with pytest.raises(ParameterError, match=r"holds \.git/HEAD, which publish did not write"), replacing(out):
        (out / ".git" / "HEAD").write_text("ref", encoding="utf-8")  # while it is publishing
    with pytest.raises(ParameterError, match=r"holds \.git/HEAD, which publish did not write"):
        publish(out, "new")
    assert content(out) == site_of("old") | {".git/HEAD": "ref"}


def test_publish_does_not_follow_symbolic_links(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    publish(elsewhere, "old")
    out = tmp_path / "site"
    out.symlink_to(elsewhere)
    with pytest.raises(ParameterError, match="is a symbolic link"):
        publish(out, "new")
    out.unlink()
    publish(out, "old")
    (out / "more").symlink_to(elsewhere)
    with pytest.raises(ParameterError, match="holds more, which"):
        publish(out, "new")
    (tmp_path / ".place.new").symlink_to(elsewhere)
    with pytest.raises(ParameterError, match="is a symbolic link"):
        publish(tmp_path / "place", "new")
    assert content(elsewhere) == site_of("old")


def test_publish_refuses_root_home_and_files_as_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for out in (Path("/"), tmp_path):
        with pytest.raises(ParameterError, match="cannot be the folder of a site"):
            publish(out, "new")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="is not a folder"):
        publish(tmp_path / "file", "new")
    with pytest.raises(DitherError, match="cannot be written"):
        publish(tmp_path / "file" / "site", "new")


def test_folders_of_others_with_our_names_are_left_alone(tmp_path: Path) -> None:
    for name in (".site.new", ".site.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("", encoding="utf-8")
        with pytest.raises(ParameterError, match="holds mine"):
            publish(tmp_path / "site", "new")
        (tmp_path / name / "mine").unlink()
        (tmp_path / name).rmdir()
