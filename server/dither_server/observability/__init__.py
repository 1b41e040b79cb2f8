"""What an operator watches: logs and Prometheus metrics. Nothing here is of any person."""
