"""The configuration: whether a collector can run on it, and what is risky in it."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import date, timedelta

from dither_serving.addresses import is_loopback
from dither_shared import DitherError, Metric, ParameterError
from dither_shared.counted import counted
from dither_shared.errors import did_you_mean

from ...access.tokens import Role
from ...analysis.population import KnownPopulation
from ...analysis.shuffling.amplified import require_mixed
from ...config.settings import Config
from ...config.sources import COLLECTOR
from ...ingest.seal_keys import KeyFile
from ...store import Store, StoredToken, UnmadeError
from ...store.sink import spool_package
from ...tally.retention import ALL
from .findings import CheckResult, ok, problem, warning

_OTHERS = {COLLECTOR.file_variable, "DITHER_TOKEN"}
"""Variables that are not settings: where the settings are, and the token of ``doctor``."""

_SOON = timedelta(days=14)
"""How long before it expires a token is reported: time enough to rotate it."""


_LATE = {"day": 16, "week": 22, "month": 46}
"""Days from the beginning of a period until a relay with its default settings drops what it could not forward."""

_RECENT = timedelta(days=1)
"""How far back to look for collectors that count differently from others."""

_BOTH_WAYS = (
    "reports of {} were counted both directly and from a spool: unless you switched on that day, let all collectors "
    "of a database use a spool, or none; a batch that is sent to both kinds counts twice"
)


def _ok(text: str) -> CheckResult:
    return ok("configuration", text)


def _warning(text: str) -> CheckResult:
    return warning("configuration", text, "")


def _problem(text: str) -> CheckResult:
    return problem("configuration", text, "")


def _unreadable(error: DitherError) -> CheckResult:
    """Return the finding for a database or spool that cannot be read; one that does not exist yet is only a warning."""
    return (_warning if isinstance(error, UnmadeError) else _problem)(str(error))


def in_configuration(config: Config) -> Iterator[CheckResult]:
    """Examine metrics, database and access without writing anything."""
    metrics: dict[str, Metric] = {}
    try:
        metrics = config.load()
        require_mixed(metrics.values())
    except ParameterError as error:
        yield _problem(str(error))
    else:
        yield _ok(f"{counted(len(metrics), 'metric')}: {', '.join(metrics)}")
        yield from _estimates(config, metrics)
    tokens: list[StoredToken] | None = None
    database = None
    try:
        with closing(Store(config.db, create=False, lock_wait=config.lock_wait, read_only=True)) as store:
            tokens = store.tokens.all()
            yield _ok("the database answers")
            database = store.identity()
            yield from (_warning(text) for text in store.doubts())
            if days := store.folds.counted_both_ways(config.today() - _RECENT):
                yield _warning(_BOTH_WAYS.format(" and ".join(map(str, days))))
            names = {version: name for name, version in store.definitions.registered()}
            known = {*metrics, *names.values(), ALL}
            for name in dict(config.retention.days).keys() - known:
                yield _warning(f"retention: {name} is not a metric here; known are {', '.join(sorted(known))}")
            for version, day in store.definitions.disabled().items():
                yield _warning(f"{names[version]}: version {version} is disabled since {day}")
    except DitherError as error:
        yield _unreadable(error)
        tokens = [] if isinstance(error, UnmadeError) else None
    if config.spool:
        yield from spool_package().findings_of_configuration(config, database)
    yield from seals(config, metrics)
    yield from _removed_at_once(config, metrics)
    if tokens is None:
        yield _warning("tokens: not known, because the database cannot be read")
    else:
        yield from _access(config, tokens)
        yield from _expiring(tokens, config.today())
    yield from _misspelt(os.environ)


def _estimates(config: Config, metrics: Mapping[str, Metric]) -> Iterator[CheckResult]:
    """Yield which metrics are not estimated, and which margins of the population are known, if a file is configured."""
    for metric in metrics.values():
        if not metric.question.estimable:
            yield _warning(f"{metric.name}: lists no candidates; it is collected, but not estimated here")
    try:
        if config.population:
            margins = KnownPopulation.load(config.population, metrics).margins
            yield _ok(f"population: {', '.join(one.place for one in margins)}")
    except ParameterError as error:
        yield _problem(f"population: {error}")


def _removed_at_once(config: Config, metrics: Mapping[str, Metric]) -> Iterator[CheckResult]:
    """Yield the sealed metrics whose reports may be too old for ``retention`` when they come."""
    today = config.today()
    for metric in metrics.values():
        since, days = config.retention.before(metric.name, today), _LATE.get(metric.period)
        if metric.seal is not None and since is not None and days is not None and (today - since).days < days:
            when = f"count for the beginning of their {metric.period}, and may come {days} days after it"
            yield _warning(f"retention: sealed reports of {metric.name} {when}; keep them for longer")


def seals(config: Config, metrics: Mapping[str, Metric]) -> Iterator[CheckResult]:
    """Yield whether reports that devices seal can be opened here."""
    named = {metric.seal for metric in metrics.values() if metric.seal is not None}
    file = KeyFile(config.seal_file())
    if not named and not file.state:
        return
    try:
        ours = {key.fingerprint for key in file.known()}
    except ParameterError as error:
        yield _problem(f"seal_keys: {error}")
        return
    for key in named:
        if key.fingerprint in ours:
            yield _ok(f"reports sealed for {key.fingerprint} are opened here")
        else:
            keys = f"its keys: {', '.join(sorted(ours)) or 'none'}"
            yield _problem(f"metrics.toml: seal.key is {key.fingerprint}, which {file.path} does not hold; {keys}")
    if not named:
        yield _ok(f"seal keys in the file: {len(ours)}; metrics.toml names none in [seal]")


def _misspelt(environment: Iterable[str]) -> Iterator[CheckResult]:
    """Find environment variables that look like settings but are not."""
    known = {*_OTHERS, *map(COLLECTOR.variable_of, COLLECTOR.settings)}
    for name in sorted(environment):
        if name.startswith("DITHER_") and name not in known:
            yield _warning(f"{name}: not a setting, and ignored{did_you_mean(name, known)}")


def _access(config: Config, tokens: list[StoredToken]) -> Iterator[CheckResult]:
    for role, near in _shut_out(config, _roles_of(tokens, config.today())):
        yield _warning(f"no token has the role {role.value}: {near or 'nobody'} may {role.value}")
    if (why := _mute_pages(config)) is not None:
        yield _warning(why)
    elif config.origins.listed:
        yield _ok(f"pages of {config.origins} may report; a page of any other origin may not")
    if Role.ADMIN in config.open:
        yield _warning("open: anyone who reaches the port is admin")
    if config.trust_loopback and Role.REPORT not in config.open and is_loopback(config.host):
        yield _ok(
            "programs on this machine may report without a token; if a proxy runs on it, set trust_loopback = false"
        )
    if config.local_token:
        yield _ok(
            "a read token, valid until the server stops, is printed at the start; if this is logged,"
            " set local_token = false"
        )


def _expiring(tokens: list[StoredToken], today: date) -> Iterator[CheckResult]:
    """Yield the tokens that end soon, or have ended."""
    for one in tokens:
        if one.expires is not None and one.expires <= today + _SOON:
            ended = "expired" if one.expires <= today else "expires"
            yield _warning(f"token {one.identifier} ({one.role}) {ended} on {one.expires}")


def _roles_of(tokens: Collection[StoredToken], today: date) -> frozenset[Role]:
    """Return the roles of the tokens that are valid today."""
    return frozenset(Role(one.role) for one in tokens if one.expires is None or one.expires > today)


def unable(config: Config, tokens: Collection[StoredToken]) -> Iterator[str]:
    """Yield the roles that nobody has yet, and how to grant them."""
    for role, near in _shut_out(config, _roles_of(tokens, config.today())):
        if near is None:
            yield f"nobody may {role.value} yet: dither-server token create --role {role.value}"
    if (why := _mute_pages(config)) is not None:
        yield why


def _mute_pages(config: Config) -> str | None:
    """Return why pages of listed origins cannot report, and how to change that; None if they can.

    A page of another origin cannot send a token: browsers would ask for permission first, which no collector gives.
    """
    if not config.origins.listed or any(one.covers(Role.REPORT) for one in config.open):
        return None
    return f'origins: pages of {config.origins} send no token, and are answered 401; set open = ["report"]'


def _shut_out(config: Config, roles: frozenset[Role]) -> Iterator[tuple[Role, str | None]]:
    """Yield each role that requires a token but has none, with who may still act in that role."""
    reports_here = bool(config.here.hosts) or (config.trust_loopback and is_loopback(config.host))
    near = {
        Role.REPORT: "only this machine" if reports_here else None,
        Role.READ: "only people with the address that is printed at the start" if config.local_token else None,
    }
    for role, who in near.items():
        if not any(one.covers(role) for one in config.open | roles):
            yield role, who
