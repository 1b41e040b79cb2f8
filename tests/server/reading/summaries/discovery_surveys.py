"""Surveys of a small question whose strings nobody listed."""

from collections.abc import Mapping

import numpy as np

from dither_server.reading.summaries.discoveries import Discoveries
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.tally.tally import Tally
from dither_shared import parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.collecting import TODAY

CRASH_TOML = """
[metrics.crash]
description = "Where did it crash?"
type = "string"
epsilon = 4.0
buckets = 1024
discover = {alphabet = "a-d.", length = 5}
"""
CRASH = parse_metrics(CRASH_TOML)["crash"]
DISCOVERIES = Discoveries()


def surveyed(held: Mapping[str, int], seed: int = 1) -> CollectedReports:
    """Return what was collected from this many people with each text."""
    items = [CRASH.item(text) for text in held]
    labels = tuple(item.decode("ascii") for item in items if isinstance(item, bytes))
    people = Population(labels, np.array(list(held.values())))
    tally = sample_tally(CRASH.mechanism, people, np.random.default_rng(seed))
    return CollectedReports(CRASH, tally, (TODAY, TODAY), {}, DISCOVERIES.estimate)


NOTHING = CollectedReports(CRASH, Tally.zero(CRASH.mechanism), (None, None), {}, DISCOVERIES.estimate)
