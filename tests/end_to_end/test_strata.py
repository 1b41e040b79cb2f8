"""Strata from real clients through a real collector to an estimate of each, of all, and of what differs."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import dither
from dither_server.store import Store
from dither_shared import parse_metrics
from dither_simulations.collection.collector_process import DATABASE, fetch, running_collector

DEFINITION = """
[metrics.theme]
type = "choice"
values = ["dark", "light"]
epsilon = 4.0
strata = {platform = ["linux", "windows"], channel = ["stable"]}
"""
METRICS = parse_metrics(DEFINITION)
THEME = METRICS["theme"]
SURE = 1 - 1e-8
PEOPLE = [
    *(("linux", "stable", "dark" if number % 20 else "light") for number in range(120)),
    *(("linux", "nightly", "light") for _ in range(40)),
    *(("windows", "stable", "light" if number % 20 else "dark") for number in range(120)),
    *(("amiga", None, "dark") for _ in range(20)),
]
"""The platform and the channel of each device, and its person's answer."""


def report(url: str, person: tuple[str, str | None, str]) -> bool:
    """Let a device report, to which its app names the platform once and the channel with the answer."""
    platform, channel, answer = person
    client = dither.Client(
        METRICS,
        endpoint=url,
        app="strata",
        state=dither.MemoryState(),
        background=False,
        environ={},
        strata={"platform": platform},
    )
    with closing(client):
        client.consent("on")
        client.record("theme", answer, **({} if channel is None else {"channel": channel}))
        return client.flush(30.0)


def test_strata_of_clients_come_out_of_the_collector(tmp_path: Path) -> None:
    """The noise is the operating system's: this fails by chance with a probability below 1e-6."""
    definition = tmp_path / "metrics.toml"
    definition.write_text(DEFINITION)
    path = f"/v1/metrics/theme/{{}}&confidence={SURE}"
    with running_collector(definition, tmp_path) as collector:
        with ThreadPoolExecutor(32) as pool:
            assert all(pool.map(lambda person: report(collector.url, person), PEOPLE))
        answers: Any = fetch(collector, path.format("estimate?by=platform&by=channel"))
        linux = fetch(collector, path.format("estimate?platform=linux"))
        compared = fetch(collector, path.format("compare?platform=linux&other_platform=windows&channel=stable"))
    *strata, everyone = answers
    assert {"/".join(one["stratum"].values()): one["reports"] for one in strata} == {
        "linux/stable": 120, "linux/other": 40, "windows/stable": 120, "other/other": 20,
    }  # fmt: skip
    assert (everyone["reports"], set(everyone["stratum"].values())) == (300, {None})
    assert linux["reports"] == 160
    groups = [*(tuple(one["stratum"].values()) for one in strata)]
    for answer, (platform, channel) in zip([*strata, everyone], [*groups, (None, None)], strict=True):
        held = Counter(value for where, how, value in PEOPLE if fits(platform, where) and fits(channel, how))
        for row in answer["values"]:
            assert row["noise_low"] <= held[row["value"]] / answer["reports"] <= row["noise_high"]
    (dark,) = (row for row in compared["values"] if row["value"] == "dark")
    assert dark["high"] < 0  # 95% on linux, 5% on windows
    with closing(Store(f"sqlite:///{tmp_path / DATABASE}", create=False)) as store:
        parts = [store.tally(THEME, places=(place,)) for place in range(6)]
        whole = store.tally(THEME)
        assert (whole.counts == sum(part.counts for part in parts)).all()
        assert whole.total == 300
        weights = [one["reports"] / 300 for one in strata]
    for place, row in enumerate(everyone["values"]):  # estimates are linear in the tally: that of all weighs its strata
        weighed = sum(weight * one["values"][place]["frequency"] for weight, one in zip(weights, strata, strict=True))
        assert abs(row["frequency"] - weighed) < 1e-12


def fits(asked: str | None, given: str | None) -> bool:
    """Whether a device that gave this value is in the stratum: what is not listed is in that of "other"."""
    listed = given if given in {"linux", "windows", "stable"} else "other"
    return asked in {None, listed}
