"""The whole path once, from a person's answer on a device to an estimate with its chart: ``dither-sim demo``.

It uses client and collector unchanged; nothing that they need is here.
"""
