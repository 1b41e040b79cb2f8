"""The torture tests at a small size, and those whose size does not matter: a lock held, retries in any order."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from torture import hostile_peers
from torture.costs import CANDIDATES, TABLE, TREND, Size, costly
from torture.deliveries import Deliveries, deliveries
from torture.fold import fold_rounds
from torture.fuzz import fuzz
from torture.kill import kill_cycles
from torture.power import can_record, power_cuts, relay_power_cuts, spool_power_cuts
from torture.proxy import Cut
from torture.sealed import sealed_rounds
from torture.several import several
from torture.slow import slow_clients
from torture.trouble import can_fill, full_disk, locked


@pytest.mark.slow  # five starts; test_process.py kills a collector under load, too
def test_reports_are_counted_once_through_kill_9_of_the_collector(tmp_path: Path) -> None:
    assert kill_cycles(tmp_path, 2) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="which processes a fold has started is read in /proc, of Linux")
@pytest.mark.slow  # Dask's processes alone take 10 s; test_killed.py kills at each step without them
def test_spool_and_fold_through_kill_9(tmp_path: Path) -> None:
    """One process of each kind is killed, except those that a fold starts itself."""
    seen = fold_rounds(tmp_path, 2)
    processes = {"collector", "worker of the cluster", "scheduler"}
    assert seen.kills.keys() == processes | {"command at LISTED", "command at BEGUN"}
    assert seen.tallies > 5


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
@pytest.mark.slow  # 40 starts; test_sealing_process.py and relay/test_kill.py kill each half
def test_sealed_reports_through_kill_9_of_relay_and_collector(tmp_path: Path) -> None:
    """Each way to kill once."""
    seen = sealed_rounds(tmp_path, 5)
    assert seen.deliveries > seen.reports > 5 * 90
    assert sum(seen.kills.values()) >= 4
    assert seen.kills["relay amid arrivals"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
@pytest.mark.slow  # 20 starts; sealed/test_posts.py has two collectors of one database
def test_two_relays_and_two_collectors_on_one_database_count_once(tmp_path: Path) -> None:
    """Of the 60 reports whose key is retired, each shows at a relay: unread, or kept."""
    lost = several(tmp_path, 1)
    assert lost.counted == 60 + 60 + 60 + 120
    assert lost.unread + lost.kept >= 60


@pytest.mark.skipif(can_record() is not None, reason=can_record() or "")
@pytest.mark.parametrize("cuts", [power_cuts, relay_power_cuts, spool_power_cuts], ids=["collector", "relay", "spool"])
@pytest.mark.parametrize(("points", "commits"), [(12, 20), pytest.param(40, 60, marks=pytest.mark.slow)])
def test_acknowledged_commits_survive_power_cuts(
    tmp_path: Path, cuts: Callable[..., list[str]], points: int, commits: int
) -> None:
    """The test can fail: without fsync the same cuts lose acknowledged commits. More cuts cover more orders."""
    for durable in (True, False):
        (folder := tmp_path / str(durable)).mkdir()
        wrong = cuts(folder, points if durable else 6, commits=commits, durable=durable)
        assert bool(wrong) is not durable, wrong


@pytest.mark.parametrize("count", [600, pytest.param(3_000, marks=pytest.mark.slow)])
def test_mutated_bodies_are_refused_or_counted(app: Flask, count: int) -> None:
    seen = fuzz(app, count)
    assert seen[202] > count / 30  # some mutations change nothing
    assert seen[400] > count / 30
    assert seen[415] > count / 300


def test_slow_clients_cost_the_others_nothing(tmp_path: Path) -> None:
    assert len(slow_clients(tmp_path, 200, 16, 4)) == 64


@pytest.mark.parametrize("name", hostile_peers.SERVERS)
def test_server_misreads_no_ambiguous_frame(name: str, tmp_path: Path) -> None:
    with hostile_peers.running(name, tmp_path) as target:
        assert hostile_peers.misread(target) == []


@pytest.mark.parametrize("name", hostile_peers.SERVERS)
def test_reports_are_accepted_beside_peers_that_pipeline(name: str, tmp_path: Path) -> None:
    with hostile_peers.running(name, tmp_path) as target:
        seconds = hostile_peers.waits(target, 20, 5, hostile_peers.PATIENCE)
    assert len(seconds) == 5
    assert max(seconds) < float("inf")


@pytest.mark.parametrize("name", hostile_peers.SERVERS)
def test_peers_that_reset_do_not_fill_the_log(name: str, tmp_path: Path) -> None:
    assert hostile_peers.lines_of_resets(name, tmp_path, 1.0) < 20


def test_collector_answers_503_while_its_database_is_locked(tmp_path: Path) -> None:
    seen, _ = locked(tmp_path, 0.2, lock_wait=0.05)
    assert seen[503] > 0


@pytest.mark.slow  # all analyses at once are seconds of work; reading/test_limiter.py has their limits
def test_reports_are_accepted_during_expensive_requests(tmp_path: Path) -> None:
    seen = costly(tmp_path, Size(days=15, values=800, candidates=600, rude=6))
    answered = {path for path, status in seen.statuses if status == 200}
    assert {TABLE, TREND, CANDIDATES} <= answered
    assert {status for _, status in seen.statuses} <= {200, 503}
    assert "failed" not in seen.ended
    assert seen.peak < 150


@pytest.mark.skipif(can_fill() is not None, reason=can_fill() or "")
def test_collector_on_a_full_disk_answers_503_and_keeps_acknowledged_reports(tmp_path: Path) -> None:
    seen, acknowledged = full_disk(tmp_path, free=700)
    assert seen[503] > 0
    assert acknowledged > 0


@pytest.mark.slow  # each sequence starts collectors; the test below has each kind of delivery once
def test_deliveries_in_any_order_count_once() -> None:
    deliveries(4)


def test_reports_count_once_over_a_failing_network_and_a_killed_collector() -> None:
    machine = Deliveries()
    try:
        for number, cut in enumerate(Cut):
            machine.deliver(number, cut)
            machine.counts_are_exact()
        machine.steal_an_id(0)
        machine.kill()
        machine.deliver_at_the_same_time([0, 1, 2, 5, 5, 6])
        machine.counts_are_exact()
    finally:
        machine.teardown()
