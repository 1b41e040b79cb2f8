"""Tokens from their making to their end, by the command line and under a collector that runs."""

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.store import Store, StoredToken
from dither_shared.metrics.period import utc_today
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS_TOML, running
from server.database import url_of
from server.test_near import CLOSED, statuses
from server.test_process import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(url_of(tmp_path))):
        return tmp_path


def test_tokens_are_shown_once_listed_by_id_and_revoked(folder: Path) -> None:
    drawn = invoke(folder, "token", "create", "--role", "read", "--note", "for \x1b[1manalysts").stdout.strip()
    other = invoke(folder, "token", "create", "--role", "admin").stdout.strip()
    assert drawn.startswith("dither-read-")
    listed = invoke(folder, "token", "list").stdout
    assert listed.count("\n") == 2
    assert "for \\x1b[1manalysts" in listed
    assert drawn not in listed
    with closing(Store(url_of(folder), create=False)) as store:
        assert {token.digest for token in store.tokens.all()} == {digest_of(drawn), digest_of(other)}
    assert drawn.encode() not in b"".join(path.read_bytes() for path in folder.glob("dither.db*"))
    identifier = next(line.split()[0] for line in listed.splitlines() if " read " in line)
    assert identifier == digest_of(drawn).hex()[:12]
    assert invoke(folder, "token", "revoke", identifier).exit_code == 0
    assert " read " not in invoke(folder, "token", "list").stdout


def listed(folder: Path) -> dict[str, dict[str, str | None]]:
    """The tokens by their notes."""
    tokens = json.loads(invoke(folder, "token", "list", "--json").stdout)
    return {token["note"]: token for token in tokens}


@pytest.mark.usefixtures("one_day")
def test_tokens_expire_on_a_day_or_after_a_number_of_days(folder: Path) -> None:
    today = utc_today()
    for note, expires in (("days", "90d"), ("day", f"{today.year + 2}-01-01"), ("never", None)):
        more = [] if expires is None else ["--expires", expires]
        assert invoke(folder, "token", "create", "--role", "read", "--note", note, *more).exit_code == 0
    tokens = listed(folder)
    assert tokens["days"]["expires"] == (today + timedelta(days=90)).isoformat()
    assert tokens["day"]["expires"] == f"{today.year + 2}-01-01"
    assert tokens["never"]["expires"] is None
    assert tokens["days"]["made"] == today.isoformat()
    with closing(Store(url_of(folder))) as store:
        old, other = StoredToken(b"o" * 32, "read", "old", today, today), StoredToken(b"x" * 32, "report", "x", today)
        for token in (old, other):
            store.tokens.add(token)
        for day in (today, today - timedelta(days=3)):  # the later one stays
            store.tokens.note_uses([other.digest], day)
    lines = invoke(folder, "token", "list").stdout.splitlines()
    shown = {line.split()[-1]: line for line in lines}
    assert f"expires {tokens['days']['expires']}" in shown["days"]
    assert f"expired {today}" in shown["old"]
    assert "never expires" in shown["x"]
    assert f"used {today}" in shown["x"]
    assert "never used" in shown["old"]
    assert len({line.index("made") for line in lines}) == 1
    checked = invoke(folder, "doctor", "--before-start").stdout
    assert f"warning  configuration: token {old.identifier} (read) expired on {today}" in checked
    assert checked.count("warning  configuration: token") == 1


def test_expiry_that_is_not_a_future_day_is_refused(folder: Path) -> None:
    for expiry, what in (
        ("soon", "not a date; write it as 90d or"), ("0d", "not a future day"), ("2020-01-01", "not a future day"),
        ("90", "not a date"), ("-1d", "not a date"), ("1e3d", "not a date"), ("٣d", "not a date"), ("d", "not a date"),
        ("99999999d", "not a date"), ("20270101", "not a date"),
        ("99999d", "not a future day within a hundred years"),
    ):  # fmt: skip
        said = error_of(invoke(folder, "token", "create", "--role", "read", "--expires", expiry))
        assert f"--expires: {what}" in said, expiry
    assert invoke(folder, "token", "list").stdout == ""


@pytest.mark.usefixtures("one_day")
def test_a_token_is_rotated_and_the_old_one_lives_on_for_a_while(folder: Path) -> None:
    today = utc_today()
    made, end = today - timedelta(days=80), today + timedelta(days=10)
    with closing(Store(url_of(folder))) as store:
        for number, expires in enumerate((None, end, today + timedelta(days=3))):
            store.tokens.add(StoredToken(bytes([number]) * 32, "report", "for gateways", made, expires))
        forever, ending, nearly = (stored.identifier for stored in store.tokens.all())
        drawn = [invoke(folder, "token", "rotate", old).stdout.strip() for old in (forever, ending, nearly)]
        tokens = {stored.identifier: stored for stored in store.tokens.all()}
        assert [tokens[old].expires for old in (forever, ending, nearly)] == [
            today + timedelta(days=7),
            today + timedelta(days=7),
            today + timedelta(days=3),  # it ends no later for having been rotated
        ]
        fresh = [next(stored for stored in tokens.values() if stored.digest == digest_of(token)) for token in drawn]
        assert [stored.expires for stored in fresh] == [None, today + (end - made), today + timedelta(days=83)]
        assert {(stored.role, stored.note, stored.day, stored.used) for stored in fresh} == {
            ("report", "for gateways", today, None)
        }
        invoke(folder, "token", "rotate", fresh[0].identifier, "--grace", "0d", "--expires", "30d")
        last = {stored.digest: stored for stored in store.tokens.all()}
        assert last[fresh[0].digest].expires == today
        (newest,) = set(last) - {stored.digest for stored in tokens.values()}
        assert last[newest].expires == today + timedelta(days=30)
    assert "ID: names no token" in error_of(invoke(folder, "token", "rotate", "0123"))
    assert "--grace: not a future day" in error_of(invoke(folder, "token", "rotate", forever, "--grace", "2020-01-01"))


@pytest.mark.usefixtures("one_day")
def test_running_collector_takes_tokens_and_writes_their_last_use(folder: Path) -> None:
    today = utc_today()
    good, ended = draw_token(Role.READ), draw_token(Role.ADMIN)
    with closing(Store(url_of(folder))) as store:
        store.tokens.add(StoredToken(digest_of(good), "read", "good", today, today + timedelta(days=1)))
        store.tokens.add(StoredToken(digest_of(ended), "admin", "ended", today, today))
        with running(folder, *CLOSED) as (url, process):
            assert statuses(url, {"Authorization": f"Bearer {good}"}) == (200, 200, 202)  # it is local that reports
            assert statuses(url, {"Authorization": f"Bearer {ended}"}) == (401, 401, 202)
            process.terminate()
            assert process.wait(PATIENCE) == 0
        assert {token.note: token.used for token in store.tokens.all()} == {"good": today, "ended": None}
