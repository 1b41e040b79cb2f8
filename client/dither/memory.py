"""Memory: choose the permanent draw that a report repeats.

A value that was charged repeats its own draw; a new one is charged, and draws. When the budget is used up, a new value
repeats the last draw instead, for silence would tell that it is new.
"""

from dither_shared.mechanism import Item
from dither_shared.metric import Metric

from .former import FormerKeys
from .keys import Keys
from .ledger import Ledger
from .records import Permanent
from .state import StateError

__all__ = ["recall"]


def recall(metric: Metric, item: Item, keys: Keys, ledger: Ledger) -> tuple[int, Permanent | None]:
    """Return the permanent draw to report from, and the record of it unless it is the last one again.

    Raises DitherError if the last draw is not of this device, or is needed and lost.
    """
    last = ledger.last(metric)
    replayed = None if last is None else keys.replay(metric, last)
    holder = _holder(metric, item, keys, ledger)
    tag = holder.tag(metric, item)
    if last is not None and last.tag == tag:
        return keys.replay(metric, last), None
    if ledger.pays(metric, tag):
        drawn = holder.draw(metric, item)
        return drawn, keys.kept(metric, tag, drawn)
    if replayed is None:
        raise StateError("the last permanent draw is lost, and there is no budget for a new one")
    return replayed, None


def _holder(metric: Metric, item: Item, keys: Keys, ledger: Ledger) -> Keys | FormerKeys:
    """Return the keys that draw for a value: the former ones if it was charged under them."""
    if ledger.has_former(metric) and ledger.charged(metric, keys.former.tag(metric, item)):
        return keys.former
    return keys
