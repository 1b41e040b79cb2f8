"""Settings: their sources, and the configuration that a collector starts with."""
