"""Examine a running collector: whether it answers, knows the apps' metrics, and sees the clients' addresses."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from dither_serving.addresses import is_loopback
from dither_serving.collector_url import CollectorUrl, NoAnswerError
from dither_shared import VERSION, Metric, ParameterError
from dither_shared.bounded_http import HttpAnswer

from ...config.settings import Config
from .database import compared
from .findings import CheckResult, Level, ok, problem, warning

_MOST = 200
"""Maximum metrics that the collector is asked about."""

_SECONDS = 10.0
"""Time limit of each request."""

_LONGEST = 1 << 16
"""Maximum bytes read of an answer's body."""

_ADMIN = "with the --token of an admin, the collector reports what it sees"


class Peer:
    """A collector at a URL, asked with a token if there is one."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """Take the apps' endpoint; raise ParameterError unless it can be a collector's."""
        self.url = CollectorUrl.parse("--url", url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ParameterError("--token", "not a token: it has characters that no token contains")
        self.has_token = token is not None
        self._secret = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, *path: str, identified: bool = False) -> HttpAnswer:
        """Ask for a path, given in parts, with the token if ``identified``. Raises NoAnswerError."""
        fields = {"User-Agent": "dither-server doctor"} | (self._secret if identified else {})
        return self.url.ask("".join(f"/{quote(part, safe='')}" for part in path), fields, _SECONDS, _LONGEST)


def of_running(peer: Peer, config: Config, metrics: Mapping[str, Metric]) -> Iterator[CheckResult]:
    """Examine the collector at an address."""
    try:
        before = datetime.now(UTC)
        health = peer.get("healthz")
        after = datetime.now(UTC)
        yield (answer := _health(health))
        if answer.level is not Level.OK:
            return
        yield from _clock(health, before, after)
        yield from _readiness(peer.get("readyz"))
        if peer.url.is_exposed:
            advice = "Tokens and reports travel in the clear: give apps an address of https"
            yield warning("collector", "the address is not encrypted", advice)
        yield from _versions(peer, list(metrics.values())[:_MOST])
        yield from _proxies(peer, config)
    except NoAnswerError as error:
        advice = (
            "Check that it runs, that the address is right and that the proxy in front is up. Until then devices "
            "keep their reports"
        )
        yield problem("collector", f"it {error}", advice)


def _json(answer: HttpAnswer) -> dict[str, Any]:
    """Return the object in an answer's body; {} if there is none."""
    try:
        parsed = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _health(health: HttpAnswer) -> CheckResult:
    if health.status == 200 and _json(health).get("status") == "ok":
        return ok("collector", "answers")
    if 300 <= health.status < 400:
        advice = "Devices do not follow redirects: give apps the address that it redirects to"
        return problem("collector", f"the address redirects elsewhere ({health.status})", advice)
    return problem(
        "collector", f"the server there is not a collector ({health.status})", "Check what the proxy forwards"
    )


def _clock(health: HttpAnswer, before: datetime, after: datetime) -> Iterator[CheckResult]:
    """Yield a comparison with the clock of the server, which may be that of a proxy."""
    try:
        there = parsedate_to_datetime(health.fields.get("date", ""))
    except (ValueError, OverflowError):  # for example a year of twenty digits
        return
    if there.tzinfo is not None:
        yield compared("the clock of the server that answers", there, before, after)


def _readiness(ready: HttpAnswer) -> Iterator[CheckResult]:
    if ready.status != 200:
        what = "cannot write its database, or its spool"
        yield problem("collector", what, "Its log says why; until then reports are answered 503")


def _versions(peer: Peer, metrics: list[Metric]) -> Iterator[CheckResult]:
    """Yield whether the collector counts what ``metrics.toml`` asks, which it read when it started."""
    unknown = [one for one in metrics if peer.get("v1", "metrics", one.name, "versions", one.version).status == 404]
    if metrics and not unknown:
        yield ok("collector", "counts all metrics of metrics.toml")
    for metric in unknown:
        advice = "Restart it: it reads metrics.toml when it starts"
        yield problem("collector", f"does not count {metric.name} in version {metric.version}", advice)


def _proxies(peer: Peer, config: Config) -> Iterator[CheckResult]:
    """Yield findings about the proxies that the collector sees in front of it, if the token permits the question."""
    if not peer.has_token:
        yield ok("proxies", f"not checked; {_ADMIN}")
        return
    reply = peer.get("v1", "diagnosis", identified=True)
    if reply.status == 403:  # as it should be: the token is valid for its purpose
        yield ok("proxies", f"not checked, because this token has another role; {_ADMIN}")
        return
    diagnosis = _json(reply)
    sight = diagnosis.get("seen")
    if reply.status != 200 or not isinstance(sight, dict):
        said = diagnosis.get("detail", "no collector of this version answers")
        advice = "Create one: dither-server token create --role admin --expires 1d"
        yield warning("proxies", f"not checked ({reply.status}): {said}", advice)
        return
    if diagnosis.get("version") != VERSION:
        advice = "Restart it with this version, or run the doctor of its version"
        yield warning("collector", f"runs dither {diagnosis.get('version')}, this is {VERSION}", advice)
    yield from seen(sight, is_loopback(peer.url.host), config.connections_per_address)


def seen(sight: Mapping[str, Any], is_near: bool, limit: int) -> Iterator[CheckResult]:
    """Yield findings from the collector's view of a request; ``is_near`` if it was sent to this machine itself."""
    signs, address = sight.get("signs"), sight.get("address")
    signs = ", ".join(map(str, signs)) if isinstance(signs, list) else ""
    if sight.get("local") and not is_near:
        advice = "Set trust_loopback = false: anyone who comes through the proxy may report without a token"
        yield problem("proxies", "requests from elsewhere are taken for this machine's own", advice)
    if sight.get("proxy") and not sight.get("forwarded_for"):
        advice = "Make it send X-Forwarded-For, or raise connections_per_address"
        yield warning(
            "proxies",
            f"{address} is declared but forwards no addresses: all devices behind it share {limit} requests at a time",
            advice,
        )
    elif sight.get("proxy"):
        yield ok("proxies", f"{address} is declared, and forwards the addresses of devices")
    elif signs and sight.get("loopback"):
        yield ok("proxies", f"a proxy on the collector's machine forwards requests ({signs})")
    elif signs:
        advice = f'Set proxies = "{address}", if it is yours: its devices count as one address'
        yield warning("proxies", f"{address} forwards requests ({signs}), and is not declared", advice)
    elif is_near:
        yield ok("proxies", "none on the way to this address; try the address that apps use, too")
    elif sight.get("loopback"):
        advice = "Make it send Forwarded or X-Forwarded-For, and set trust_loopback = false"
        yield warning("proxies", "a program on the collector's machine forwards requests, and hides it", advice)
    else:
        yield ok("proxies", "none: the collector sees this machine's own address")
