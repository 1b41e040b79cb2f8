"""The steps of an upgrade, one file each, oldest first. A released step never changes."""
