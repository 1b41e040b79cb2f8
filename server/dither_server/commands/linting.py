"""What can be said of a configuration before a collector runs on it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Literal, NamedTuple

from dither_shared import DitherError, Metric, ParameterError

from ..auth import Role, is_loopback
from ..config import Config
from ..retention import ALL
from ..store import Store, UnmadeError

__all__ = ["Remark", "remarks"]


class Remark(NamedTuple):
    """One thing to know: an error keeps a collector from running, a warning does not."""

    level: Literal["ok", "warning", "error"]
    text: str


def remarks(config: Config) -> Iterator[Remark]:
    """Yield remarks about metrics, database and access. Nothing is written."""
    metrics: dict[str, Metric] = {}
    try:
        metrics = config.load()
    except ParameterError as error:
        yield Remark("error", str(error))
    else:
        yield Remark("ok", f"{len(metrics)} metrics: {', '.join(metrics)}")
        for metric in metrics.values():
            if not metric.labels:
                yield Remark("warning", f"{metric.name}: lists no candidates; it is collected, but not estimated here")
    tokens: frozenset[Role] | None = None
    try:
        with closing(Store(config.db, create=False, lock_wait=config.lock_wait)) as store:
            tokens = frozenset(Role(token.role) for token in store.tokens())
            yield Remark("ok", "the database answers")
            yield from (Remark("warning", text) for text in store.doubts())
            names = {version: name for name, version in store.registered()}
            known = {*metrics, *names.values(), ALL}
            for name in dict(config.retention.days).keys() - known:
                yield Remark("warning", f"retention: {name} is no metric here; known are {', '.join(sorted(known))}")
            for version, day in store.disabled().items():
                yield Remark("warning", f"{names[version]}: version {version} is disabled since {day}")
    except DitherError as error:
        yield Remark("warning" if isinstance(error, UnmadeError) else "error", str(error))
    yield from _access(config, tokens or frozenset())


def _access(config: Config, tokens: frozenset[Role]) -> Iterator[Remark]:
    may = config.open | tokens
    for role in (Role.REPORT, Role.READ):
        if role not in may and Role.ADMIN not in may:
            yield Remark("warning", f"no token has the role {role.value}: only loopback may {role.value}")
    if Role.ADMIN in config.open:
        yield Remark("warning", "open: whoever reaches the port is admin")
    if not is_loopback(config.host) and config.trust_loopback:
        yield Remark("warning", "trust_loopback: is true, so a proxy on this machine would open everything to everyone")
