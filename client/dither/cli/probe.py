"""Probe: try a collector as an app would use it, and state each result in words; no report is sent.

Each step depends on the one before: the name, the connection, its encryption, the collector, the token, and then the
version of each metric. If reports are sealed, a relay takes the collector's place and needs no token. Only a few known
words of a collector's answers are used.
"""

import ipaddress
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Literal, NamedTuple

from dither_shared.bounded_http import Address, Deadline, HttpAnswer, Stream, dial, exchange, request, resolve, secured
from dither_shared.metrics.metric import Metric

from ..reporting.bodies import SEALED, SealError, kind_for, sealer
from ..upload.transport import Endpoint
from .text import plain

_SECONDS = 20.0
"""For everything except the metrics; each of them adds one second."""

_PAUSE = 1.0
"""Seconds until the next try if a collector, or the proxy in front of it, limits the rate of requests."""

_PATH = "/v1/sealed"
"""The path of a relay. A collector has it, too, but an app must not report there: the collector would see addresses."""

_URN = "urn:dither:problem:"
_MOST_OF_A_BODY = 1 << 14
_PROXY = frozenset({502, 503, 504})
_AGAIN = 429
_NOT_FOUND = 404

_LONGEST = 120
"""Maximum characters of a collector's message that are printed."""

_ADVICE = {
    10: "; renew it, or correct the clock of this machine",
    18: "; its issuer is not an authority that this machine trusts",
    19: "; its issuer is not an authority that this machine trusts",
    20: "; this machine does not trust its issuer, or the server does not send the intermediate certificates",
    21: "; the server does not send the intermediate certificates",
    62: "; it belongs to another server, or does not contain this name",
    64: "; it belongs to another server, or does not contain this address",
}
"""Advice by OpenSSL's error number of a certificate's verification."""

_Step = Literal["name", "connection", "encryption", "collector", "relay", "sealing", "token", "metric"]
_Result = Literal["ok", "warning", "failed"]
_Finding = tuple[_Result, str]


class ProbeResult(NamedTuple):
    """The result of one step; despite a warning, reports would arrive."""

    step: _Step
    result: _Result
    says: str
    metric: str = ""
    version: str = ""


def probe(endpoint: Endpoint, token: str | None, metrics: Iterable[Metric]) -> Iterator[ProbeResult]:
    """Try a collector step by step; stop at the first failure that makes later steps impossible."""
    listed = list(metrics)
    sealed = kind_for(listed) is SEALED
    attempt = _Attempt(endpoint, token, Deadline(_SECONDS + len(listed)))
    steps: list[tuple[_Step, Callable[[], _Finding]]] = [
        ("name", attempt.name),
        ("connection", attempt.connection),
        ("encryption", attempt.encryption),
        ("relay", attempt.relay) if sealed else ("collector", attempt.collector),
    ]
    try:
        for name, step in steps:
            result, says = step()
            yield ProbeResult(name, result, says)
            if result == "failed":
                return
        yield ProbeResult("sealing", *_sealing(listed)) if sealed else ProbeResult("token", *attempt.token())
        for metric in listed:
            result, says = _at_a_relay(metric) if sealed else attempt.metric(metric)
            yield ProbeResult("metric", result, f"{metric.name}: {says}", metric.name, metric.version)
    finally:
        attempt.close()


class _Attempt:
    """One trial of a collector, with what its steps have found so far; each returns its result, and why in words."""

    def __init__(self, endpoint: Endpoint, token: str | None, deadline: Deadline) -> None:
        self._endpoint = endpoint
        self._token = token
        self._deadline = deadline
        self._addresses: list[Address] = []
        self._open: Stream | None = None  # a connection that has carried no request yet
        self._reply = HttpAnswer(0, {})

    def name(self) -> _Finding:
        """Look up the host's addresses."""
        host = self._endpoint.host
        try:
            self._addresses = resolve(host, self._endpoint.port)
        except OSError as error:
            unknown = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME
            why = "the name is not known; is it spelled correctly?" if unknown else _words(error)
            return "failed", f"{host}: {why}"
        first = self._addresses[0].host
        alone = "; that is this machine, and no other device can reach it" if self._is_local() else ""
        return "ok", (f"{host} is an address" if host == first else f"{host} is {first}") + alone

    def connection(self) -> _Finding:
        """Connect, and remember which address answered."""
        port = self._endpoint.port
        try:
            self._open, address = dial(self._addresses, self._deadline)
        except ConnectionRefusedError:
            return "failed", f"nobody listens at port {port}; is the collector running there?"
        except TimeoutError:
            return "failed", f"port {port} does not answer; is a firewall in between?"
        except OSError as error:
            return "failed", f"port {port} cannot be reached: {_words(error)}"
        self._addresses = [address]
        return "ok", f"{address.host} answers at port {port}"

    def encryption(self) -> _Finding:
        """Negotiate TLS, and verify the certificate."""
        if not self._endpoint.secure:
            if self._is_local():
                return "ok", "none, and none is needed on one machine"
            return "warning", "none; any network in between can read the reports and the token"
        import ssl  # noqa: PLC0415 - a third of this program's start-up time, and not needed for http

        stream, self._open = self._open, None
        try:
            self._open = None if stream is None else secured(stream, self._endpoint.host)
        except ssl.SSLCertVerificationError as error:
            message = f"the certificate is not accepted: {plain(error.verify_message)}"
            return "failed", message + _ADVICE.get(error.verify_code, "")
        except ssl.SSLError as error:
            why = "the server does not speak TLS; is it http, or another port?"
            return "failed", f"{why} ({plain(error.reason or 'no reason given')})"
        except OSError as error:
            return "failed", f"no agreement on TLS ({_words(error)}); is it http, or another port?"
        return "ok", f"the certificate is valid for {self._endpoint.host}, and in order"

    def collector(self) -> _Finding:
        """Ask whether a report would be accepted; the answer also shows whether this is a collector."""
        try:
            self._reply = self._get("/v1/reports", self._token)
        except OSError as error:
            return "failed", f"no HTTP answer came: {_words(error)}"
        if not _is_collectors(self._reply):
            return "failed", self._relay_here() or _why_none(self._reply, self._endpoint)
        return "ok", f"a dither collector answers at {self._endpoint.url}"

    def _relay_here(self) -> str:
        """Return a sentence if this is a relay, although the reports are not sealed; otherwise ""."""
        try:
            if self._reply.status != _NOT_FOUND or not _is_relay(self._get(_PATH, None)):
                return ""
        except OSError:
            return ""
        seal = "it takes only sealed reports, and this metrics file has no seal key ([seal])"
        return f"a dither relay answers, not a collector: {seal}; the operator of its collector has the key"

    def relay(self) -> _Finding:
        """Ask at the path for sealed reports; a relay's answer differs from a collector's."""
        try:
            self._reply = self._get(_PATH, None)
        except OSError as error:
            return "failed", f"no HTTP answer came: {_words(error)}"
        return _relay_words(self._reply, self._endpoint.url)

    def token(self) -> _Finding:
        """Say whether the collector accepts the token, or asks for one."""
        given = self._token is not None
        if self._reply.status == 401:
            why = "it is not known here, or was revoked" if given else "one is needed, and none was given"
            make = "'dither-server token create --role report' makes one"
            return "failed", f"{why}; on the collector's machine {make}"
        if self._reply.status == 403:
            return "failed", "it has another role; a token of the role report is needed"
        if _document(self._reply).get("token") == "needed":
            return "ok", "it is accepted"
        nobody = (
            "none is needed from this machine; other devices may need one" if self._is_local() else "none is needed"
        )
        return "ok", f"{nobody}; the given token was not checked" if given else nobody

    def metric(self, metric: Metric) -> _Finding:
        """Ask whether the reports of a metric version would be counted."""
        try:
            reply = self._get(f"/v1/metrics/{metric.name}/versions/{metric.version}", None)
        except OSError as error:
            return "failed", f"no answer came: {_words(error)}"
        answer = _document(reply)
        if reply.status == 200 and answer.get("version") == metric.version and answer.get("reports") == "accepted":
            return "ok", f"version {metric.version} is counted"
        if reply.status == 200 and answer.get("reports") == "disabled":
            return "failed", "the operator has disabled it; devices stop reporting it for a month"
        if reply.status == _NOT_FOUND and _problem(reply) == "unknown-version":
            advice = "give the collector this metrics.toml, and restart it"
            return "failed", f"version {metric.version} is not known there; {advice}"
        return "failed", f"the answer is HTTP {reply.status}, which no collector sends here"

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()

    def _get(self, path: str, token: str | None) -> HttpAnswer:
        """Return the answer to a GET, over the open connection or a new one."""
        fields = {"Host": self._endpoint.authority, "User-Agent": "dither", "Accept": "application/json"}
        fields |= {"Connection": "close"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        question = request("GET", self._endpoint.path + path, fields)
        while True:
            stream, self._open = self._open or self._connected(), None
            with closing(stream):
                answer = exchange(stream, question, _MOST_OF_A_BODY)
            if answer.status != _AGAIN or self._deadline.left() <= _PAUSE:
                return answer
            time.sleep(_PAUSE)

    def _connected(self) -> Stream:
        stream, _ = dial(self._addresses, self._deadline)
        return secured(stream, self._endpoint.host) if self._endpoint.secure else stream

    def _is_local(self) -> bool:
        return all(ipaddress.ip_address(address.host.partition("%")[0]).is_loopback for address in self._addresses)


def _document(reply: HttpAnswer) -> Mapping[str, object]:
    """Return the JSON object in an answer's body; an empty one if there is none."""
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _problem(reply: HttpAnswer) -> str:
    """Return the last part of a problem's type, or "" if the answer is not one of dither's problems."""
    kind = _document(reply).get("type")
    return kind.removeprefix(_URN) if isinstance(kind, str) and kind.startswith(_URN) else ""


def _is_collectors(reply: HttpAnswer) -> bool:
    """Return whether a working collector gave this answer to ``GET /v1/reports``."""
    if reply.status == 200:
        return _document(reply).get("collector") == "dither"
    return (reply.status, _problem(reply)) in {(401, "unauthorized"), (403, "forbidden")}


def _why_none(reply: HttpAnswer, endpoint: Endpoint) -> str:
    """Return in words what answered if it is not a collector."""
    problem, status = _problem(reply), f"HTTP {reply.status}"
    path = f"is the path {endpoint.path} right?" if endpoint.path else "does the endpoint lack a path?"
    if problem == "method-not-allowed":
        return "an older dither collector answers, which cannot be tested; upgrade it"
    if reply.status in _PROXY:
        culprit = "the collector cannot read its database" if problem else "a proxy answers, but no collector behind it"
        return f"{culprit} ({status})"
    if 300 <= reply.status < 400:
        elsewhere = plain(ascii(reply.fields.get("location", ""))[1:-1], _LONGEST) or "nowhere"
        return f"it redirects, and apps do not follow redirects ({status}, to {elsewhere}); is the endpoint right?"
    if reply.status == _AGAIN:
        return f"it asks clients to retry later ({status})"
    return f"something answers ({status}), but it is not a dither collector; {path}"


def _is_relay(reply: HttpAnswer) -> bool:
    """Return whether an answer to ``GET /v1/sealed`` is a relay's."""
    return bool(_document(reply).get("relay") == "dither")


def _relay_words(reply: HttpAnswer, url: str) -> _Finding:
    """Return whether a relay at ``url`` gave this answer and, if not, what did, in words."""
    if _is_relay(reply) or _problem(reply) == "method-not-allowed":
        return "ok", f"a dither relay answers at {url}; it needs no token"
    if "pools" in _document(reply) or _problem(reply) in {"unauthorized", "forbidden"}:
        return "failed", (
            "a collector answers, not a relay: it would see addresses, and takes no sealed reports from devices; an "
            "app that seals its reports needs the address of a relay as endpoint"
        )
    return "failed", f"something answers (HTTP {reply.status}), but it is not a dither relay; is the endpoint right?"


def _sealing(metrics: Iterable[Metric]) -> _Finding:
    """Return whether this Python can seal reports of the metrics, and if not, why; without it an app is off."""
    keys = {metric.seal for metric in metrics if metric.seal is not None}
    try:
        for key in keys:
            sealer(key)
    except SealError as error:
        return "failed", error.problem
    return "ok", f"reports are sealed here for {', '.join(sorted(key.fingerprint for key in keys))}"


def _at_a_relay(metric: Metric) -> _Finding:
    """Return where to find out whether sealed reports of a metric are counted: no relay knows."""
    path = f"/v1/metrics/{metric.name}/versions/{metric.version}"
    return "warning", f"a relay does not say whether version {metric.version} is counted; its collector does, at {path}"


def _words(error: OSError) -> str:
    """Return an error in a few words."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return "the connection was cut"
    return plain(error.strerror or str(error) or type(error).__name__, _LONGEST)
