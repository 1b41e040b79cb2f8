"""Show a bound with few digits, and never as less than it is."""

import decimal
from decimal import Decimal

__all__ = ["rounded_up"]

_FORGIVEN = Decimal("1e-12")


def rounded_up(number: float, digits: int) -> str:
    """Return a number of at least 0 with so many digits, rounded up.

    A part in 10^12 is forgiven, lest the float nearest to a tenth, which is above it, be shown as 0.100001.
    """
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    found = context.create_decimal(Decimal(number) * (1 - _FORGIVEN)).normalize(context)
    return f"{found:f}" if -4 <= found.adjusted() < digits else f"{found:e}"
