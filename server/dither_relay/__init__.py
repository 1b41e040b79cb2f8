"""The relay: it takes sealed reports from devices, and hands them to the collector many at a time, in no order.

It sees addresses and no report; the collector sees reports and no address. Neither learns the
other's half as long as the two do not collude.
"""
