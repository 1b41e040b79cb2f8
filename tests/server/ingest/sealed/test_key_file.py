import os
from pathlib import Path

import pytest

from dither_server.ingest.seal_keys import KeyFile
from dither_shared import ParameterError
from server.collecting import at_once
from server.ingest.sealed.sealing import drawn, keep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "seal-keys.json"


def test_seal_keys_are_read_as_they_were_written(path: Path) -> None:
    assert (KeyFile(path).read(), KeyFile(path).state) == ([], ())
    keys = [drawn("xwing"), drawn()]
    keep(path, *keys)
    assert KeyFile(path).read() == keys
    assert path.stat().st_mode & 0o777 == 0o600
    assert {key.name for key in path.parent.iterdir()} == {path.name, path.name + ".lock"}


def test_private_key_appears_in_no_representation() -> None:
    key = drawn()
    assert repr(key.private) not in repr(key)
    assert "private" not in repr(key)


@pytest.mark.skipif(os.name != "posix", reason="of POSIX permissions")
def test_key_file_that_others_may_read_is_refused(path: Path) -> None:
    keep(path, drawn())
    for mode in (0o640, 0o604, 0o660, 0o601):
        path.chmod(mode)
        with pytest.raises(ParameterError, match=f"others may read it; chmod 600 {path}"):
            KeyFile(path).read()


@pytest.mark.skipif(os.name != "posix", reason="of POSIX files")
def test_pipe_in_place_of_the_key_file_is_refused_without_waiting(path: Path) -> None:
    os.mkfifo(path, 0o600)
    with pytest.raises(ParameterError, match="not a regular file"):
        KeyFile(path).read()


def test_file_without_keys_is_refused_without_quoting_its_content(path: Path) -> None:
    wrong = b'{"keys": [{"key": "x25519:AA", "private": "AA==", "made": "2026-11-20"}]}'
    for content in (b"", b"[]", b"{}", b'{"keys": [1]}', b"\xff", b"[" * 10_000, wrong):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(ParameterError) as refusal:
            KeyFile(path).read()
        said = "not a file made by 'dither-server key create', or damaged; restore it from a copy"
        assert refusal.value.problem == said, content
    path.write_bytes(b'{"keys": {}}')
    assert KeyFile(path).read() == []


def test_failed_change_leaves_the_key_file_unchanged(path: Path) -> None:
    keep(path, drawn())
    before = path.read_bytes()

    def fail(_: object) -> list[object]:
        raise ParameterError("--suite", "no")

    with pytest.raises(ParameterError):
        KeyFile(path).change(fail)  # type: ignore[arg-type]  # it returns nothing at all
    assert path.read_bytes() == before


def test_two_processes_that_add_a_key_at_once_both_succeed(path: Path) -> None:
    keys = [drawn() for _ in range(8)]
    (link := path.with_name("link.json")).symlink_to(path)  # which one of the two may use
    at_once(lambda key: KeyFile(link if key in keys[::2] else path).change(lambda now: [*now, key]), *keys)
    assert link.is_symlink()
    assert {key_pair.public for key_pair in KeyFile(path).read()} == {key_pair.public for key_pair in keys}


def test_keyring_reloads_its_file_when_it_changes(path: Path) -> None:
    first, second, third = drawn(), drawn(), drawn("xwing")
    ring, other = KeyFile(path), KeyFile(path)
    assert (ring.known(), ring.suites()) == ([], [])
    for keys in ([first], [first, second], [first, second, third], [second, third], []):
        keep(path, *keys)
        assert ring.known() == [key.public for key in keys] == other.known()
        assert ring.openers(first.public.suite) == ring.openers(first.public.suite)  # the same objects
        assert ring.suites() == list(dict.fromkeys(key.public.suite for key in keys))
        assert len(ring.openers(first.public.suite)) == sum(key in keys for key in (first, second))
    path.unlink()
    assert ring.known() == []


def test_a_keyring_opens_nothing_with_a_file_that_is_damaged_until_it_is_right_again(path: Path) -> None:
    key = drawn()
    keep(path, key)
    ring = KeyFile(path)
    assert ring.known() == [key.public]
    before = path.read_bytes()
    path.write_bytes(before.replace(b"private", b"privte"))
    for _ in range(2):
        with pytest.raises(ParameterError):
            ring.known()
    path.write_bytes(before)
    assert ring.known() == [key.public]
