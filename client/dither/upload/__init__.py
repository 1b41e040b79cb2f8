"""From a waiting report to the collector: schedule, HTTP exchange, retries, and the worker's thread."""
