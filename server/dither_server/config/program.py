"""Which program this is."""

from importlib import metadata

__all__ = ["VERSION"]

VERSION = metadata.version("dither")
