"""Forward waiting reports to the collector: at which hour, cut into which bodies, and with which retries."""
