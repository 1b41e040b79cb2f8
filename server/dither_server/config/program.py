"""Which program this is."""

from importlib import metadata

VERSION = metadata.version("dither")
