"""What the servers share: HTTP on a socket, groups of commits, problems, proxies, numbers and logs.

The collector and the relay are built of it alike; it knows neither.
"""
