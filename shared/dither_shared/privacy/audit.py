"""Audit randomizers by attack: measure a lower bound on how much their reports reveal.

Many reports are drawn of the two inputs that the mechanism protects least. One half of them trains the attack: it picks
the event that distinguishes the inputs most clearly. The other half judges it: with bounds of Clopper and Pearson on
the event's two probabilities,

    ε  >=  ln( lower bound of P[event | x] / upper bound of P[event | x'] )

holds with the stated confidence, because the event was chosen on other draws. (For a mechanism that is only (ε,
δ)-private, δ for each report of a series is first subtracted from the lower bound.) An audit cannot prove privacy; the
exact laws in the contract tests do. It fails a randomizer that leaks more than it declares.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from ..errors import ParameterError
from ..mechanism import NUMBERS, Item, Mechanism
from ..primitives.entropy import Entropy, KeyedEntropy
from ..wire import Report

_Feature = tuple[str, int]
"""A feature of a series of reports, and its value."""

_STRICTEST = 1 - 1e-15
"""The highest confidence level at which a bound is still between 0 and 1."""

_MOST_EVENTS = 64
"""Maximum number of events of each kind that are tried: those whose counts differ most."""

_TOLD = 1000
"""Reports between two calls of ``drawn``."""


@dataclass(frozen=True)
class Finding:
    """What an audit found: with ``confidence`` the loss of ``reports`` reports is at least ``lower_bound``."""

    mechanism: str
    reports: int
    declared: float
    lower_bound: float
    confidence: float
    draws: int
    event: str

    @property
    def passed(self) -> bool:
        """Whether the declared loss was not exceeded."""
        return self.lower_bound <= self.declared


def audit(
    mechanism: Mechanism,
    entropy: Entropy,
    draws: int,
    reports: int = 1,
    confidence: float = 0.999,
    drawn: Callable[[int], object] = lambda _: None,
) -> Finding:
    """Attack ``mechanism`` with ``draws`` reports of each of two inputs, in series of ``reports`` by one device.

    The declared loss is that of a series; without a permanent part it is ``reports`` times ε. ``drawn`` is called now
    and then with the number of reports drawn since the last call; in all they are twice ``draws``, or slightly fewer.
    Raises ParameterError if there are too few draws for a series in each half.
    """
    if not 1 <= reports <= draws // 2:
        raise ParameterError("draws", f"{draws} are too few for two series of {reports} report(s)")
    series = draws // reports
    cohort, inputs = _worst_pair(mechanism)
    see = _features(mechanism, cohort, inputs)
    trained, judged = (
        [_observe(mechanism, item, cohort, entropy, (part, reports), see, drawn) for item in inputs]
        for part in (series // 2, series - series // 2)
    )
    spared = reports * float(mechanism.delta)
    event, direction = _best_event(trained, series // 2, confidence, spared)
    bound = _loss(judged, event, direction, series - series // 2, confidence, spared)
    return Finding(
        mechanism=mechanism.name,
        reports=reports,
        declared=mechanism.epsilon_after(reports),
        lower_bound=max(0.0, bound),
        confidence=confidence,
        draws=draws,
        event=f"{event[0]} {event[1]}",
    )


def _worst_pair(mechanism: Mechanism) -> tuple[int, tuple[Item, Item]]:
    """Return the cohort and two inputs, among a few of each, whose marked cells differ most."""
    some: list[Item] = [b"%d" % number for number in range(40)]
    size = mechanism.size or 0
    if mechanism.items.sets:
        some = [0, (1 << mechanism.largest) - 1]
    elif mechanism.items == NUMBERS:  # the farther apart they are, the easier to distinguish
        some = [0, size - 1]
    elif not mechanism.items.open:
        some = list(range(min(size, 3)))
    differences = []
    for cohort in range(min(mechanism.cohorts, 4)):
        marked = {item: frozenset(mechanism.marked(item, cohort)) for item in some}
        differences += [(len(marked[one] ^ marked[two]), cohort, (one, two)) for one, two in combinations(some, 2)]
    _, cohort, pair = max(differences, key=lambda entry: entry[0])
    return cohort, pair


def _features(mechanism: Mechanism, cohort: int, inputs: tuple[Item, Item]) -> Callable[[list[bytes]], list[_Feature]]:
    """Return the features of a series that the attack looks at: those of the declared structure, and the raw bytes."""
    first, second = (set(mechanism.marked(item, cohort)) for item in inputs)
    mine, theirs = first - second, second - first

    def verdict(payload: bytes) -> int:
        cells = set(Report(cohort, payload).cells(mechanism))
        if mechanism.items == NUMBERS:
            return sum(cells)  # the higher a cell, the more it points to the last item
        if not mechanism.independent_cells:  # then a report either has some of the marked cells, or none
            return bool(cells & first) - bool(cells & second)
        return (mine <= cells and not cells & theirs) - (theirs <= cells and not cells & mine)

    known: dict[bytes, int] = {}

    def see(series: list[bytes]) -> list[_Feature]:
        score = 0
        for payload in series:
            if payload not in known:
                known[payload] = verdict(payload)
            score += known[payload]
        seen: list[_Feature] = [("score", score), ("first byte", series[0][0]), ("last byte", series[0][-1])]
        if len(series) == 1 and len(series[0]) <= 2:
            seen.append(("payload", int.from_bytes(series[0], "big")))
        if len(series) > 1:
            seen.append(("distinct reports", len(set(series))))
        return seen

    return see


def _observe(
    mechanism: Mechanism,
    item: Item,
    cohort: int,
    entropy: Entropy,
    size: tuple[int, int],
    see: Callable[[list[bytes]], list[_Feature]],
    drawn: Callable[[int], object],
) -> Counter[_Feature]:
    """Count features over series, each by a new device with its own secret."""
    series, reports = size
    counts: Counter[_Feature] = Counter()
    step = max(1, _TOLD // reports)
    for number in range(1, series + 1):
        secret = entropy.take(32) if reports > 1 else None
        sent = [
            mechanism.randomize(item, entropy, cohort, None if secret is None else KeyedEntropy(secret))
            for _ in range(reports)
        ]
        counts.update(see(sent))
        if not number % step:
            drawn(step * reports)
    return counts


def _best_event(
    observed: list[Counter[_Feature]], series: int, confidence: float, spared: float
) -> tuple[_Feature, int]:
    """Return the event with the largest bound on the training half, and the input that it points to."""
    one, two = observed

    def contrast(feature: _Feature) -> float:
        return abs(one[feature] - two[feature]) / math.sqrt(one[feature] + two[feature])

    features = sorted(one.keys() | two.keys())
    scores = [(f"score {sign}", value) for name, value in features if name == "score" for sign in (">=", "<=")]
    others = sorted((feature for feature in features if feature[0] != "score"), key=contrast, reverse=True)
    events = scores + others[:_MOST_EVENTS]
    # The more events are tried, the stricter the level of each: the best of many is good by chance.
    strict = min(1 - (1 - confidence) / (2 * len(events)) ** 2, _STRICTEST)
    return max(
        ((event, direction) for event in events for direction in (0, 1)),
        key=lambda choice: _loss(observed, choice[0], choice[1], series, strict, spared),
    )


def _loss(
    observed: list[Counter[_Feature]], event: _Feature, direction: int, series: int, confidence: float, spared: float
) -> float:
    """Return the lower bound on ε from an event; each of its two bounds may fail with half of 1 - confidence.

    ``spared`` is the δ by which a probability may exceed what ε allows.
    """
    each = (1 + confidence) / 2
    likely, unlikely = _hits(observed[direction], event), _hits(observed[1 - direction], event)
    low = lower_bound(likely, series, each) - spared
    return math.log(low / upper_bound(unlikely, series, each)) if low > 0 else -math.inf


def _hits(counts: Counter[_Feature], event: _Feature) -> int:
    name, bound = event
    if name == "score >=":
        return sum(count for (feature, value), count in counts.items() if feature == "score" and value >= bound)
    if name == "score <=":
        return sum(count for (feature, value), count in counts.items() if feature == "score" and value <= bound)
    return counts[event]


def lower_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the p below which ``successes`` or more would be seen with probability at most 1 - confidence.

    The one-sided bound of Clopper and Pearson (1934): a quantile of Beta(successes, trials - successes + 1).
    """
    if successes == 0:
        return 0.0
    return _quantile(1 - confidence, successes, trials - successes + 1)


def upper_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the p above which ``successes`` or fewer would be seen with probability at most 1 - confidence."""
    if successes == trials:
        return 1.0
    return _quantile(confidence, successes + 1, trials - successes)


@lru_cache(1 << 14)  # many events have the same counts
def _quantile(level: float, a: int, b: int) -> float:
    """Return x with I_x(a, b) = level, by bisection: 60 halvings reach the precision of floats."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _regularized(middle, a, b) < level else (low, middle)
    return (low + high) / 2


def _regularized(x: float, a: int, b: int) -> float:
    """Return the regularized incomplete beta function I_x(a, b) (DLMF 8.17.22)."""
    if x == 1:  # of a quantile that a float cannot tell from 1
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the continued fraction of the complement converges faster
        return 1 - _regularized(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: int, b: int) -> float:
    """Return the continued fraction of I_x(a, b) by Lentz's algorithm, for x <= (a+1)/(a+b+2).

    It ends because b is whole, and none of its denominators is 0: ``even`` is positive, and ``odd`` above -1.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, b):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        fraction *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return fraction
