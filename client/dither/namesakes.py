"""Namesakes: detect two apps of one name, which share a folder, and so consent, secret and outbox.

The sign is a metric that was asked in one version, then in another, and then in the first again, within a few days. An
update of an app changes versions too, but does not go back.
"""

from collections.abc import Container

from .ledger import Ledger

__all__ = ["ADVICE", "OWN_NAME", "is_about_namesakes", "namesakes"]

OWN_NAME = "such as org.example.notes"
ADVICE = f"give each app a name of its own, {OWN_NAME}"
_HEAD = "two apps, or two versions of one, go by the name "
_RECENT = 14
"""Days after which a metric that went back to a former version may have been a user who did."""


def namesakes(app: str, metrics: Container[str], ledger: Ledger, today: int) -> str | None:
    """Return in words that another app of this name is about, and by which metric it shows; None if none is known."""
    for name, day in ledger.returns.items():
        if name in metrics and today - day <= _RECENT:
            return f"{_HEAD}{app!r}: metrics.{name} is asked in two versions by turns"
    return None


def is_about_namesakes(trouble: str) -> bool:
    """Return whether trouble is of this kind; nothing has failed then."""
    return trouble.startswith(_HEAD)
