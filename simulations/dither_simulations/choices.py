"""Values of options, and limits of what a command accepts; a light module, because help must appear at once."""

from typing import Literal, get_args

Kind = Literal["uniform", "zipf", "geometric", "step"]
"""A distribution of users over values (``populations.Distribution``)."""
KINDS: tuple[Kind, ...] = get_args(Kind)

Spread = Literal["uniform", "normal", "lognormal", "beta", "spikes", "zero-inflated"]
"""A distribution of users over a range of numbers (``numbers.NumberDistribution``)."""
SPREADS: tuple[Spread, ...] = get_args(Spread)

SurveyType = Literal["share", "number", "selection", "string"]
"""What is asked, and so estimated: shares of listed answers or strings, a number's mean and quantiles, the share of
people who have each of some items, or which of many strings are frequent, and how frequent."""
SURVEY_TYPES: tuple[SurveyType, ...] = get_args(SurveyType)

Step = Literal["raw", "consistent", "shift", "clip", "rescale"]
"""What may be done to frequencies to turn them into shares (``experiments.error.shares.apply``)."""
STEPS: tuple[Step, ...] = get_args(Step)

Law = Literal["joint", "marginal", "device", "collector"]
"""How the reports of all users are drawn: their tally from its joint law; the support of each value from its own law,
independently of the others; one by one, by the device's randomizer; or by real clients that send them to a real
collector, which estimates.
"""
LAWS = ("joint", "marginal", "device")
"""Distributions that need only a seed."""

Attack = Literal["random-report", "crafted-input", "crafted-report"]
"""How reports are forged (``attacks.poisoning``)."""
ATTACKS: tuple[Attack, ...] = get_args(Attack)

SEPARATOR = ";"
"""Separates the items of a set, in labels and in files."""


MAX_SIZE = 1 << 20
"""Maximum number of values of a question."""

MAX_USERS = 10**15
"""Counts below this are exact in a float, which numpy's binomial draws rely on."""

FORMATS = (".png", ".svg", ".pdf")
"""File name endings of pictures."""

DEVICES = 10_000
"""Default number of devices of the demo."""

VISITORS = 100
"""Default number of visitors of its page, each of whom needs a browser context."""
