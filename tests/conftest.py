"""Fixtures and hooks for all tests."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings

# Threads of linear algebra wait for each other by spinning: with one per process, the tests of regression take a third
# of the processor time. This file is imported before numpy is, and programs that tests start inherit the setting.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The examples are the same in each run, and how long one takes on a machine that does much else is no failure.
# `--hypothesis-profile=default` draws others.
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

# A shell ignores SIGINT in jobs that it runs in the background, and so may a CI. Children inherit that, and tests that
# interrupt them would hang.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class _Failures:
    """Print at once which test has failed, and where; the whole text follows minutes later, when all tests have run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and (terminal := self._config.pluginmanager.get_plugin("terminalreporter")):
            crash = str(getattr(report.longrepr, "reprcrash", "")).partition("\n")[0]
            terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}) {crash}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # of pytest-xdist, whose reports the process that started it shows
        config.pluginmanager.register(_Failures(config))


@pytest.fixture
def one_day() -> None:
    """Let midnight (UTC) pass if it is near: for tests that compare a day with that of a program, which looks later."""
    now = datetime.now(UTC)
    if (soon := now + timedelta(minutes=2)).day != now.day:
        midnight = soon.replace(hour=0, minute=0, second=0, microsecond=0)
        time.sleep((midnight - now).total_seconds())


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server that all tests of this process share, without a database's name."""
    from server.postgresql import WHY_NOT, server  # noqa: PLC0415  # the client's tests run where there is no psycopg

    with server() as url:
        if url is None:
            pytest.skip(WHY_NOT)
        yield url


@pytest.fixture
def postgresql_url(postgresql: str) -> str:
    """The URL of a fresh database on PostgreSQL."""
    from server.postgresql import fresh  # noqa: PLC0415  # likewise

    return fresh(postgresql)
