"""Logs and Prometheus metrics for operators. They hold nothing about any person."""
