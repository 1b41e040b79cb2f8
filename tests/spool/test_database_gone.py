"""A collector that spools while its PostgreSQL is gone: it takes reports, and stays ready for load balancers."""

import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_shared.metrics.period import utc_today
from dither_spool.layout import SpoolLayout
from server.collecting import METRICS, MOBILE, THEME, batch, by_kind, rows_of, running
from server.postgresql import WHY_NOT, Own, fresh, own
from server.test_process import PATIENCE, connect
from spool.spooling import ids_in, in_place
from torture.devices import post


@pytest.fixture
def postgresql() -> Iterator[Own]:
    with own() as found:
        if found is None:
            pytest.skip(WHY_NOT)
        yield found


@pytest.fixture
def layout(tmp_path: Path) -> SpoolLayout:
    return SpoolLayout.at(str(tmp_path / "spool"))


def status(url: str, body: bytes) -> int:
    response = post(url, body)
    assert response is not None
    return response.status


def got(url: str, path: str) -> tuple[int, str]:
    with closing(connect(url)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_collector_takes_reports_while_postgresql_is_gone(tmp_path: Path, postgresql: Own, layout: SpoolLayout) -> None:
    """Enabled metrics are taken, disabled ones refused; the refusals are counted when the database is back."""
    database = fresh(postgresql.url)
    with closing(Store(database)) as store:
        store.register(METRICS.values())
        store.definitions.disable(MOBILE.name, None, utc_today())
    batches = [batch(THEME, rows_of(THEME, 1)) for _ in range(40)]
    disabled = batch(MOBILE, rows_of(MOBILE, 1, value=True)).encode()
    with running(tmp_path, "--spool", str(tmp_path / "spool"), "--db", database) as (url, process):
        assert status(url, batches[0].encode()) == 202
        assert status(url, disabled) == 410
        postgresql.stop()
        assert [status(url, sent_batch.encode()) for sent_batch in batches[1:20]] == [202] * 19
        assert status(url, disabled) == 410
        assert status(url, b"no batch") == 400
        assert got(url, "/readyz")[0] == 200
        assert re.search(r"^dither_database_up 0.0$", got(url, "/metrics")[1], re.MULTILINE)
        assert got(url, "/v1/metrics/theme/estimate")[0] == 503
        postgresql.start()
        assert [status(url, sent_batch.encode()) for sent_batch in batches[20:]] == [202] * 20
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert "Traceback" not in log
    assert log.count("the database is gone") <= 1
    assert ids_in(in_place(layout.blobs)) == {bytes.fromhex(sent_batch.batch) for sent_batch in batches}
    with closing(Store(database)) as store:
        assert by_kind(store, "") == {"malformed": 1}
        assert by_kind(store, MOBILE.name) == {"metric-disabled": 2}


def test_collector_exits_cleanly_while_postgresql_is_gone(tmp_path: Path, postgresql: Own, layout: SpoolLayout) -> None:
    one = batch()
    options = ("--spool", str(tmp_path / "spool"), "--db", fresh(postgresql.url))
    with running(tmp_path, *options) as (url, process):
        assert status(url, b"no batch") == 400
        postgresql.stop()
        assert status(url, one.encode()) == 202
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert "counts of 1 refused batches are lost" in log
    assert ids_in(in_place(layout.blobs)) == {bytes.fromhex(one.batch)}
    with running(tmp_path, *options) as (url, process):  # but it does not begin so
        assert url == ""
        assert process.wait(PATIENCE) == 1
