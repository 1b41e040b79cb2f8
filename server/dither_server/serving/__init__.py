"""An HTTP/1.1 server on asyncio: connections, their limits, and the way of a request to ingest or to the app.

No route is here.
"""
