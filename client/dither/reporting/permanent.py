"""Memory: choose the permanent draw that a report repeats.

A value that was charged repeats its own draw; a new one is charged, and draws. When the budget is used up, a new value
repeats the last draw instead, for silence would tell that it is new.
"""

from dither_shared.mechanism import Item
from dither_shared.metrics.metric import Metric

from ..state.journal_records import Permanent
from ..state.state import StateError
from .draws.keys import Keys
from .ledger import Ledger

__all__ = ["recall"]


def recall(metric: Metric, item: Item, keys: Keys, ledger: Ledger) -> tuple[int, Permanent | None]:
    """Return the permanent draw to report from, and the record of it unless it is the last one again.

    Raises DitherError if the last draw is not of this device, or is needed and lost.
    """
    account, own = ledger.account(metric), keys.of(metric)
    last = None if account is None else account.last
    replayed = None if last is None else own.replay(last)
    tag = own.tag(item)
    if last is not None and replayed is not None and last.tag == tag:
        return replayed, None
    if ledger.pays(metric, tag):
        drawn = own.draw(item)
        return drawn, own.kept(tag, drawn)
    if replayed is None:
        raise StateError("the last permanent draw is lost, and there is no budget for a new one")
    return replayed, None
