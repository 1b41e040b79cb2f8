"""The relay: it takes sealed reports from devices, and hands them to the collector many at a time, in no order.

It sees addresses and no report; the collector sees reports and no address. Neither holds the other's half, so long as
the two do not tell each other.
"""
