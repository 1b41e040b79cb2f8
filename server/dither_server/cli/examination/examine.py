"""The whole examination, in the order in which the checks depend on each other."""

from collections.abc import Iterator
from contextlib import closing

from dither_shared import DitherError, Metric, ParameterError

from ...config.settings import Config
from ...store import Store, database_file
from ...store.sink import spool_package
from .configuration import in_configuration
from .database import in_database, in_field
from .findings import Finding, ok
from .machine import on_machine
from .running import Peer, of_running


def examine(config: Config, peer: Peer | None, *, thorough: bool = False) -> Iterator[Finding]:
    """Examine a configuration, and the collector that runs at ``peer``.

    With ``thorough`` a large database is read completely, to check whether it is damaged.
    """
    yield from in_configuration(config)
    try:
        with closing(Store(config.db, create=False, lock_wait=config.lock_wait, read_only=True)) as store:
            yield from in_database(store, thorough)
            yield from in_field(store, config.today(), config.seal_alarm)
            if config.spool:
                yield from spool_package().findings_of_folds(config, store)
    except DitherError:  # which is found in the configuration
        pass
    path = database_file(config.db)
    if path is not None:
        yield from on_machine(path.parent)
    if config.spool:
        yield from spool_package().findings(config)
    if peer is None:
        yield ok("collector", "not asked; --url https://... asks it as devices do, and also checks proxies and clock")
    else:
        yield from of_running(peer, config, _metrics(config))


def _metrics(config: Config) -> dict[str, Metric]:
    try:
        return config.load()
    except ParameterError:  # which is found in the configuration
        return {}
