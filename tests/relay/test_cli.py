"""The commands, as an operator gives them."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from dither_relay.cli import cli
from dither_relay.store import RelayStore
from relay.fake_collector import collecting
from relay.relaying import LAYOUT, POOLS, THEME, hold, rows, running, stored, url_of


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments, env={"DITHER_RELAY_CONFIG": ""})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_forward_posts_full_pools_and_status_shows_the_rest(tmp_path: Path) -> None:
    db = ("--db", url_of(tmp_path))
    with collecting(POOLS) as collector:
        with stored(tmp_path) as store:
            hold(store, rows(1200))
            hold(store, rows(3, 1), pool=2)
        shown = json.loads(invoke("status", *db, "--json")[1])
        assert [pool["waiting"] for pool in shown["pools"]] == [3, 1200, 0]
        assert shown["trouble"] is None
        ways = (*db, "--collector", collector.url, "--batch", "5")
        assert invoke("forward", *ways) == (0, "1,200 reports forwarded, 3 wait\n")
        assert invoke("forward", *ways) == (0, "0 reports forwarded, 3 wait\n")
        assert collector.rows() == Counter(rows(1200))
        status, text = invoke("status", *db, "--at", "04:30")
        assert status == 0
        assert ["theme/0123456789abcdef/1", "x25519", "0", "0", "1,200", "0", "0"] in [
            line.split() for line in text.splitlines()
        ]
        assert "at 04:30 UTC, next on " in text
        assert "; no forwarding hour yet" in text


def test_status_counts_listed_pools_without_reports(tmp_path: Path) -> None:
    db = ("--db", url_of(tmp_path))
    with stored(tmp_path) as store:
        listed = "are listed, but no report has come; the first report names its pool"
        assert invoke("status", *db)[1].splitlines()[0] == f"3 pools {listed}"
        hold(store, rows(3), pool=2)
        lines = invoke("status", *db)[1].splitlines()
        assert lines[1].split()[:3] == [LAYOUT.series, "x25519", "3"]
        assert lines[2] == f"2 pools {listed}"
        pools = json.loads(invoke("status", *db, "--json")[1])["pools"]
        assert {pool["pool"]: pool["named"] for pool in pools} == {LAYOUT.series: True, THEME.digest: False}


def test_forward_fails_and_says_so_while_the_collector_refuses(tmp_path: Path) -> None:
    with collecting(POOLS) as collector, stored(tmp_path) as store:
        hold(store, rows(9))
        collector.answers.append(401)
        ways = ("--db", url_of(tmp_path), "--collector", collector.url, "--batch", "5")
        status, text = invoke("forward", *ways)
        assert status == 1
        assert "0 reports forwarded, 9 not taken, 0 wait\n" in text
        assert "dither-relay: theme/0123456789abcdef/once/1: the collector answered 401: so it is: 401\n" in text
        assert "trouble: theme/0123456789abcdef/once/1: the collector answered 401" in invoke("status", *ways[:2])[1]


def test_forward_is_refused_while_a_relay_forwards(tmp_path: Path) -> None:
    with collecting(POOLS) as collector, running(tmp_path, collector.url) as (url, _):
        assert url
        with closing(RelayStore(url_of(tmp_path))) as store:
            with store.exclusive_lock("round", "", 10):
                status, text = invoke("forward", "--db", url_of(tmp_path), "--collector", collector.url)
            assert (status, text) == (1, "dither-relay: database: another process forwards from it now\n")


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--batch", "1", "--batch: 1 is below 2"),
        ("--body-limit", "1", "--body-limit: 1 is below 1"),
        ("--queue-bytes", "65535", "--queue-bytes: 65535 is below body_limit, 65536"),
        ("--batch", "many", "--batch: not a whole number"),
        ("--at", "25:00", "--at: '25:00' is not a time of day"),
        ("--at", "3am", "--at: '3am' is not a time of day"),
        ("--max-age", "0", "--max-age: 0 is not positive"),
        ("--max-age", "31", "--max-age: 31 is above 30"),
        ("--horizon", "30", "--horizon: 30 is not above 30"),
        ("--grace", "31", "--grace: 31 and max_age 14 are together not below horizon, 45"),
        ("--token", "dither-report-x\r", "--token: has spaces, line ends"),
        ("--collector", "collector.example", "--collector: not a URL, such as https://collector.example"),
        ("--db", "relay.db", "--db: not a database URL"),
        ("--proxies", "nginx", "--proxies: not addresses or networks"),
        ("--port", "70000", "--port: 70000 is not between 0 and 65535"),
        ("--log-level", "loud", "--log-level: 'loud' is not one of"),
    ],
)
def test_wrong_settings_are_refused_by_name(tmp_path: Path, flag: str, value: str, message: str) -> None:
    options = {"--db": url_of(tmp_path), "--collector": "https://collector.example"} | {flag: value}
    status, text = invoke("run", *(word for pair in options.items() for word in pair))
    assert status == 2
    assert text.startswith(f"dither-relay: {message}")


def test_missing_settings_are_named(tmp_path: Path) -> None:
    assert invoke("run", "--db", url_of(tmp_path))[1].startswith("dither-relay: DITHER_RELAY_COLLECTOR: not set")
    assert invoke("status", "--db", url_of(tmp_path)) == (
        2,
        f"dither-relay: db: {tmp_path}/relay.db does not exist; a relay has not run on it yet\n",
    )
