"""The relay: it takes sealed reports from devices, and forwards them to the collector in large shuffled batches.

It sees addresses but no report; the collector sees reports but no address. Neither learns the other's half as long as
the two do not collude.
"""
